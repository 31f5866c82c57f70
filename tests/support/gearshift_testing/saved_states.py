"""Kept states as a save writes them, with no server: one kernel with one variable in a person's own folder."""

from __future__ import annotations

from pathlib import Path

from gearshift.lab import environment, kept, manifest
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.manifest import Manifest, SavedKernel, SavedSession
from gearshift.state import save

from gearshift_testing.lab_server import STATE_KEY

KERNEL = "kernel-k-1.gsk"
OTHERS_KEY = "cd" * 32


def of(folder: Path, owner: str = "mei", workspace: str = "vlm", key: str = STATE_KEY) -> LabEnvironment:
    """A server's environment with its state in this folder."""
    return environment.read(
        {
            "GEARSHIFT_WORKSPACE": f"{owner}/{workspace}",
            "GEARSHIFT_STATE_DIR": str(folder),
            "GEARSHIFT_STATE_KEY": key,
        }
    )


def saved(own: LabEnvironment, state: str = "op-1") -> Path:
    """A kept state with one kernel, written as a save writes it."""
    folder = own.state_dir / state
    folder.mkdir(mode=0o700)
    file = folder / KERNEL
    save({"v": list(range(100))}, file, own.state_key)
    kernel = SavedKernel("k-1", "python3", KERNEL, kept.seal(file))
    session = SavedSession("s-1", "a.ipynb", "a.ipynb", "notebook", "k-1")
    manifest.write(folder, Manifest(state, (kernel,), (session,), own.owner, own.workspace), own.state_key)
    return folder


def flip(path: Path, at: int) -> None:
    """One bit of one byte."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(bytes(raw))
