"""Reading what a job wrote: its folder belongs to the submitter, who may have put links, pipes or devices there.

A file is read when it is a plain file of the submitter's own below the job's folder, and only then.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gearshift.model.errors import GearshiftError

from gearshift_hub.backends.jobs import Page

from .paths_within import open_within

OUT = "out"


@contextmanager
def opened(root: Path, name: str) -> Iterator[int | None]:
    """A descriptor of `out/name`; None for what is not there or not a plain file of the submitter."""
    descriptor = None
    try:
        with open_within(root, f"{OUT}/{name}") as found:
            descriptor = os.dup(found)
        yield descriptor if _is_own(root, descriptor) else None
    except (OSError, GearshiftError):
        if descriptor is not None:
            raise
        yield None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def page(root: Path, name: str, offset: int, limit: int) -> Page | None:
    """At most `limit` bytes from `offset` on; a negative offset counts from the end."""
    with opened(root, name) as descriptor:
        if descriptor is None:
            return None
        size = os.fstat(descriptor).st_size
        start = max(0, size + offset) if offset < 0 else min(offset, size)
        return Page(os.pread(descriptor, limit, start), start, size)


def log_page(root: Path, name: str, offset: int, limit: int) -> Page | None:
    """As `page`, of a log whose middle was perhaps not kept: a page lies before that gap or behind it."""
    with opened(root, name) as descriptor:
        if descriptor is None:
            return None
        size = os.fstat(descriptor).st_size
        asked = max(0, size + offset) if offset < 0 else min(offset, size)
        start = _seek(descriptor, asked, os.SEEK_DATA, size)
        gap = _seek(descriptor, start, os.SEEK_HOLE, size)
        data = os.pread(descriptor, min(limit, gap - start), start)
        left_out = start - _seek(descriptor, 0, os.SEEK_HOLE, size) if start > asked else 0
        return Page(data, start, size, left_out, cut=start + len(data) == gap < size)


def _seek(descriptor: int, offset: int, way: int, size: int) -> int:
    """Where data or a hole begins from `offset` on; the end where there is none."""
    try:
        return min(os.lseek(descriptor, offset, way), size)
    except OSError:
        return size


def size(root: Path, name: str) -> int:
    """0 for what is not there."""
    with opened(root, name) as descriptor:
        return 0 if descriptor is None else os.fstat(descriptor).st_size


def changed_at(root: Path, name: str) -> float:
    with opened(root, name) as descriptor:
        return 0.0 if descriptor is None else os.fstat(descriptor).st_mtime


def _is_own(root: Path, descriptor: int) -> bool:
    """A hard link to somebody else's file has another owner than the folder it lies in."""
    found = os.fstat(descriptor)
    return stat.S_ISREG(found.st_mode) and found.st_uid == (root / OUT).lstat().st_uid
