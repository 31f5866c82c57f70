"""Environments on this box: made from a lock, shared by all who use the image, known again by what is in them.

images/envs/<digest>-py3.11/   one environment for each lock; its manifest is written last, so a half-made one is none
images/kernels/<the same>/     how a workspace's server starts its kernels; nothing of ours lies in the environment itself
images/cache/                  uv's; the environments are hard links into it
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from gearshift.model.image import Making

from gearshift_hub.images import installer, locks
from gearshift_hub.images.catalog import Variant
from gearshift_hub.images.locking import pins
from gearshift_hub.paths import Home

MANIFEST = "gearshift-image.json"
DIST_INFO = re.compile(r"^(.+?)-([^-]+)\.dist-info$")
LINKED = ("--quiet", "--link-mode", "hardlink", "--compile-bytecode")
SYNC = ("pip", "sync", "--require-hashes", *LINKED)
INSTALL = ("pip", "install", *LINKED)
Say = Callable[[Making, str], None]
Uv = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Environment:
    """A finished one."""

    prefix: Path
    image: str
    digest: str
    python: str
    packages: Mapping[str, str]
    seconds: float
    size_bytes: int

    @property
    def interpreter(self) -> Path:
        return self.prefix / "bin/python"


class ChangedError(Exception):
    """Its packages are no longer those that it was built with."""

    def __init__(self, built: str, found: str, names: list[str]) -> None:
        super().__init__(f"{', '.join(names)} changed")
        self.built, self.found, self.names = built, found, names


class Environments:
    """All of one deployment."""

    def __init__(self, home: Home) -> None:
        self.root = home.images
        self.cache = self.root / "cache"

    def folder(self, digest: str) -> Path:
        return self.root / "envs" / f"{digest.removeprefix('sha256:')[:16]}-py{python_version()}"

    def kernels(self, digest: str) -> Path:
        """A data folder of Jupyter's with the one kernel."""
        return self.root / "kernels" / self.folder(digest).name

    def find(self, digest: str) -> Environment | None:
        """None while it is not there, or not whole."""
        folder = self.folder(digest)
        try:
            said = json.loads((folder / MANIFEST).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return Environment(prefix=folder, **said) if said.get("digest") == digest else None

    def check(self, environment: Environment) -> None:
        """Raise ChangedError unless what is installed is what was built; takes about a millisecond."""
        found = installed(environment.prefix)
        if found != environment.packages:
            names = sorted({name for name, _ in set(found.items()) ^ set(environment.packages.items())})
            raise ChangedError(fingerprint(environment.packages), fingerprint(found), names)

    def build(self, variant: Variant, say: Say) -> Environment:
        """The environment, made unless it is there; two builders of one image are one after the other."""
        with self._alone(variant.digest) as lock:
            there = self.find(variant.digest)
            return there or self._make(variant, say, partial(installer.run, cache=self.cache, held=[lock]))

    def remove(self, digest: str) -> None:
        for folder in (self.folder(digest), self.kernels(digest)):
            shutil.rmtree(folder, ignore_errors=True)

    def _make(self, variant: Variant, say: Say, uv: Uv) -> Environment:
        began, folder = time.monotonic(), self.folder(variant.digest)
        shutil.rmtree(folder, ignore_errors=True)
        say(Making.ENVIRONMENT, f"with Python {python_version()}")
        uv(["venv", "--quiet", "--python", installer.base_python(), str(folder)])
        say(Making.PACKAGES, f"{len(locks.packages(variant.lock))} in its lock")
        uv([*SYNC, "--python", str(folder / "bin/python"), str(variant.lock)])
        if variant.torch:
            say(Making.TORCH, variant.torch)
            _install_torch(variant, variant.torch, folder, uv)
        say(Making.KERNEL, "for workspaces")
        (folder / ".lock").chmod(0o644)  # uv leaves it open to all
        _describe_kernel(folder, self.kernels(variant.digest) / "kernels/python3")
        made = Environment(
            prefix=folder,
            image=variant.name,
            digest=variant.digest,
            python=python_version(),
            packages=installed(folder),
            seconds=round(time.monotonic() - began, 2),
            size_bytes=_size(folder),
        )
        _publish(folder / MANIFEST, {name: value for name, value in asdict(made).items() if name != "prefix"})
        return made

    @contextmanager
    def _alone(self, digest: str) -> Iterator[int]:
        folder = self.folder(digest)
        for place in (self.root, folder.parent):
            place.mkdir(mode=0o755, exist_ok=True)
        with (folder.parent / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield lock.fileno()


def python_version() -> str:
    """Of the environments made here."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def installed(prefix: Path) -> dict[str, str]:
    """Package -> version, from the names in its site-packages."""
    site = prefix / f"lib/python{python_version()}/site-packages"
    found = (DIST_INFO.match(entry.name) for entry in os.scandir(site))
    return {re.sub(r"[-_.]+", "-", one[1]).lower(): one[2] for one in sorted(filter(None, found), key=str)}


def fingerprint(packages: Mapping[str, str]) -> str:
    """Of a set of packages, short enough to be compared by eye."""
    return locks.digest_of("".join(f"{name}=={packages[name]}\n" for name in sorted(packages)))


def _install_torch(variant: Variant, torch: str, folder: Path, uv: Uv) -> None:
    """The site's build, and whatever that build brings along beyond the lock."""
    with tempfile.TemporaryDirectory() as aside:
        limits = pins(variant.lock, Path(aside) / "pins.txt")
        uv([*INSTALL, "--constraint", str(limits), "--python", str(folder / "bin/python"), torch])


def _describe_kernel(prefix: Path, target: Path) -> None:
    """The kernel's own description, with its Python by name (the server would take `python` for its own) and our clock."""
    shutil.copytree(prefix / "share/jupyter/kernels/python3", target, dirs_exist_ok=True)
    said = json.loads((target / "kernel.json").read_text("utf-8"))
    argv = [str(prefix / "bin/python"), *said["argv"][1:], "--ext", "gearshift.cell_clock"]
    _publish(target / "kernel.json", {**said, "argv": argv})


def _publish(file: Path, content: object) -> None:
    """Whole or not at all."""
    draft = file.with_name(f".{file.name}.new")
    draft.write_text(json.dumps(content, indent=1), "utf-8")
    draft.replace(file)


def _size(folder: Path) -> int:
    """What its files take together, whoever shares them."""
    return sum(entry.lstat().st_size for entry in folder.rglob("*") if not entry.is_dir())
