"""A plain Debian in a container store, for boxes that reach no registry of images: made by debootstrap from the same
mirror that apt uses here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from gearshift_hub.images.containers import Containers

NAME = "localhost/gearshift/debian:bookworm"
ARCHIVE = "GEARSHIFT_DEBIAN_ARCHIVE"
"""One that was made before, to save its minute."""
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
LEFT_OUT = (
    "./etc/apt/sources.list",  # it names the mirror
    "./var/cache/apt/*.bin",
    "./var/cache/apt/archives/*.deb",
    "./var/lib/apt/lists/*",
    "./dev/*",
    "./var/log/*",
    "./usr/share/doc/*",
    "./usr/share/locale/*",
)


def obstacle() -> str:
    """Why none is made here; empty where it can be."""
    return "this box has no debootstrap" if shutil.which("debootstrap") is None else Containers.obstacle()


def put(containers: Containers) -> str:
    """Make it and give it its name."""
    if made := os.environ.get(ARCHIVE):
        _import(containers, Path(made))
        return NAME
    mirror = re.search(r"^URIs: (\S+)", SOURCES.read_text() if SOURCES.exists() else "", re.MULTILINE)
    with tempfile.TemporaryDirectory(dir=containers.root) as folder:
        root, archive = Path(folder) / "root", Path(folder) / "root.tar"
        words = ["--variant=minbase", "--include=ca-certificates", "bookworm", str(root)]
        _run(["debootstrap", *words, *([mirror[1]] if mirror else [])])
        left_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
        _run(["tar", "-C", str(root), "--numeric-owner", *left_out, "-cf", str(archive), "."])
        _import(containers, archive)
    return NAME


def _import(containers: Containers, archive: Path) -> None:
    containers.podman("import", "--quiet", "--change", 'CMD ["bash"]', str(archive), NAME)


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv[0]}: {(done.stdout + done.stderr)[-400:]}"
