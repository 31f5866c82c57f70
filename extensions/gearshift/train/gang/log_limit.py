"""Keeps each log within a limit: its beginning and its end stay, what lies between is given back to the disk.

A log never gets shorter: the part that is not kept becomes a hole in the file, so every offset means what it meant and
whoever writes never notices. Readers see where the hole is (`SEEK_DATA`) and say so.
"""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import suppress
from pathlib import Path

_PUNCH_HOLE_KEEP_SIZE = 0x02 | 0x01
_GRAIN = 1 << 16
"""Holes begin and end at multiples of it: no file system has larger blocks."""
PAUSE_S = 1.0

_libc = ctypes.CDLL(None, use_errno=True)


class LogLimit:
    """Looks after the logs of one folder; `limit` bytes each, roughly: a fast writer is ahead by one look."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._next = 0.0

    def keep(self, last: bool = False) -> None:
        """Shorten what has grown too long, if the last look is some time ago or this is the last one."""
        if time.monotonic() < self._next and not last:
            return
        for log in self._folder.glob("*.log"):
            with suppress(OSError):  # a disk that knows no holes: the log grows on
                shorten(log, self._limit)
        self._next = time.monotonic() + PAUSE_S


def shorten(log: Path, limit: int) -> None:
    """Make a hole between the first quarter of the limit and what fits at the end."""
    descriptor = os.open(log, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if found.st_blocks * 512 <= limit + _GRAIN:
            return
        head = max(_GRAIN, limit // 4 // _GRAIN * _GRAIN)
        end = (found.st_size - (limit - head)) // _GRAIN * _GRAIN
        if end > head:
            _punch(descriptor, head, end - head)
    finally:
        os.close(descriptor)


def _punch(descriptor: int, offset: int, size: int) -> None:
    done = _libc.fallocate(
        descriptor, _PUNCH_HOLE_KEEP_SIZE, ctypes.c_longlong(offset), ctypes.c_longlong(size)
    )
    if done != 0:
        raise OSError(ctypes.get_errno(), "the disk makes no holes in files")
