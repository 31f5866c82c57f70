"""What one tree sees of the box: its own /tmp, /dev/shm and /proc, and a name for its uid."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import syscalls
from .syscalls import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_PRIVATE, MS_RDONLY, MS_REC, MS_REMOUNT

PRIVATE_FOLDERS = {"/tmp": 1.0, "/dev/shm": 0.5}  # noqa: S108 - these are the ones that get replaced
"""Each with its share of the machine's memory, in which both are counted. Shared memory is full before memory is, so that
what fills it meets an error with a name and not the end of its process (case C22)."""


@dataclass(frozen=True)
class Bind:
    """A folder or file that appears at another place, or at its own place read-only."""

    source: str
    target: str
    read_only: bool = False


def enter_private_view(keep: Iterable[Path], binds: Iterable[Bind], memory_bytes: int | None) -> None:
    """Give the calling process a mount namespace of its own (0.5 ms). Needs root; raises OSError.

    `keep` are folders that must stay visible although they may lie below /tmp.
    """
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("none", "/", flags=MS_REC | MS_PRIVATE)
    kept = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY)) for path in keep if _is_hidden(path)]
    for folder, share in PRIVATE_FOLDERS.items():
        size = f",size={int(memory_bytes * share)}" if memory_bytes else ""
        syscalls.mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777" + size)
    for path, descriptor in kept:
        _make_parents(path)
        syscalls.mount(f"/proc/self/fd/{descriptor}", str(path), flags=MS_BIND | MS_REC)
        os.close(descriptor)
    for bind in binds:
        _bind(bind)
    syscalls.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2")


def _is_hidden(path: Path) -> bool:
    return path.exists() and any(path.is_relative_to(folder) for folder in PRIVATE_FOLDERS)


def _make_parents(path: Path) -> None:
    """The way down to a kept folder can be entered by everybody and listed by nobody."""
    for folder in [*reversed(path.parents), path]:
        if not folder.exists():
            folder.mkdir(mode=0o711)
            folder.chmod(0o711)


def _bind(bind: Bind) -> None:
    syscalls.mount(bind.source, bind.target, flags=MS_BIND | MS_REC)
    if bind.read_only:
        flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV
        syscalls.mount("none", bind.target, flags=flags)
