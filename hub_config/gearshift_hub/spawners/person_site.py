"""Runs at the start of every Python of a workspace: adds our kernel parts and what the person installed, after all else,
and keeps kernels of a box with several people from offering Lab's debugger.

Copied beside the servers' settings as `sitecustomize.py`; standard library only, for any Python. A person's packages lie
in a folder per image and Python version, never shadow the image's own, and are left away in a safe start. pip of the
image installs there; a person's own environments are left alone.

The debugger of ipykernel listens on a loopback port that asks nobody for a password, and every person of the box reaches
loopback: who connects runs code as the kernel's owner.
"""

import os
import site
import sys


def add_packages() -> None:
    """The server is no new Python and never comes here."""
    folder = os.environ.get("GEARSHIFT_PACKAGES")
    if not folder or os.environ.get("GEARSHIFT_IMAGE_PREFIX") != sys.prefix:
        return
    if parts := os.environ.get("GEARSHIFT_KERNEL_PARTS"):
        sys.path.append(parts)
    if is_pip(sys.orig_argv[1:3]):
        os.environ.setdefault("PIP_PREFIX", folder)
    if os.environ.get("GEARSHIFT_SAFE_START"):
        return
    place = os.path.join(folder, "lib", "python{}.{}".format(*sys.version_info), "site-packages")
    try:
        os.makedirs(place, exist_ok=True)
    except OSError:
        return
    site.addsitedir(place)


def is_pip(words: list[str]) -> bool:
    """`python -m pip`, or its script."""
    return any(os.path.basename(word).startswith("pip") for word in words)


class NoDebugger:
    """Refuses the first import of debugpy, which is ipykernel's own: the kernel then says that it has no debugger."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]  # any Python reads this
        if name != "debugpy":
            return
        sys.meta_path.remove(self)
        raise ImportError("the debugger is off: its port would be open to every person of this box")


def without_debugger() -> None:
    """In kernels only."""
    if os.environ.get("GEARSHIFT_DEBUGGER") == "off" and "ipykernel_launcher" in sys.orig_argv:
        sys.meta_path.insert(0, NoDebugger())


add_packages()
without_debugger()
