"""Buildah and podman of the distribution, with a store of this deployment's own, in the settings that a bare box allows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gearshift_hub.images import installer
from gearshift_hub.paths import Home

TOOLS = ("buildah", "podman", "runc")
SETTINGS = """\
# Raising limits needs a right that a bare box may not give; runc knows every layout of cgroups.
[containers]
default_ulimits = []
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "none"
"""
SCRATCH = "rw,mode=1777"
HOME_INSIDE = "/home/jovyan"


class ContainerError(Exception):
    """A container tool did not do it; the text is what it said last."""


class Containers:
    """The container store of one deployment."""

    def __init__(self, home: Home) -> None:
        self.root = home.images / "oci"
        self._runtime = home.runtime / "oci"
        """Podman takes no long name for it."""

    @staticmethod
    def obstacle() -> str:
        """Why this box makes no containers; empty where it does."""
        missing = [tool for tool in TOOLS if shutil.which(tool) is None]
        if missing:
            return f"this box has no {', '.join(missing)} (Debian: apt install {' '.join(TOOLS)})"
        if os.geteuid() != 0:
            return "only root builds containers here: an image holds files of more than one uid"
        return ""

    def buildah(self, *words: str) -> str:
        return self._run(["buildah", *self._store(), *words])

    def podman(self, *words: str) -> str:
        return self._run(["podman", *self._store(), *words])

    def inside(self, name: str, command: Sequence[str], mounts: Sequence[tuple[Path, str]] = ()) -> list[str]:
        """How a command is run as a person's would be: no network, no rights, nothing writable but home and scratch."""
        words = [
            "run",
            "--rm",
            "--network",
            "none",
            "--user",
            "1000",
            "--read-only",
            "--read-only-tmpfs=false",
            "--cap-drop",
            "ALL",
        ]
        words += ["--security-opt", "no-new-privileges", "--shm-size", "1g", "--http-proxy=false"]
        words += ["--tmpfs", f"/tmp:{SCRATCH}", "--volume", HOME_INSIDE]  # noqa: S108 - in the container
        words += [word for source, target in mounts for word in ("--volume", f"{source}:{target}:ro")]
        return ["podman", *self._store(), *words, name, *command]

    def environment(self) -> dict[str, str]:
        """Of the tools: nothing that this box knows of networks goes into a container by itself."""
        kept = {name: os.environ[name] for name in installer.KEPT if name in os.environ}
        scratch, settings = self.root / "tmp", self.root / "containers.conf"
        scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._runtime.parent.mkdir(exist_ok=True, mode=0o711)
        settings.write_text(SETTINGS, "utf-8")
        return kept | {"CONTAINERS_CONF": str(settings), "TMPDIR": str(scratch)}

    def remove(self) -> None:
        """The whole store, with what failed builds left mounted."""
        if self.root.exists():
            self.podman("rm", "--all", "--force")
            self.buildah("rm", "--all")
            self.podman("rmi", "--all", "--force")
            self.podman("umount", "--all")
            subprocess.run(["umount", str(self.root / "store/overlay")], capture_output=True, check=False)
            shutil.rmtree(self.root)
            shutil.rmtree(self._runtime, ignore_errors=True)

    def _store(self) -> list[str]:
        places = ["--root", str(self.root / "store"), "--runroot", str(self._runtime)]
        return [*places, "--storage-driver", "overlay"]

    def _run(self, argv: Sequence[str]) -> str:
        done = subprocess.run(argv, env=self.environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            raise ContainerError(f"{argv[0]}: {' '.join(said[-4:])[-600:]}")
        return done.stdout
