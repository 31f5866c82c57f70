"""Files with several names, some of them perhaps in another disk: whose they are must not depend on who sweeps last.

A member can give a file of a shared disk a second name in a disk of their own. Handing such a file to the owner of
whichever disk is swept would let a former member keep it, or take it back. So a file that belongs to nobody of a disk
and has names outside of it is never handed over: it is replaced by a copy where the disk's owner may read it anyway,
and else left alone.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable

from gearshift_hub.backends.local import acl
from gearshift_hub.backends.local.tree_walk import Found

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Names:
    """Counts the names that one disk holds of each such file."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], int] = {}

    def add(self, status: os.stat_result) -> None:
        key = status.st_dev, status.st_ino
        self._seen[key] = self._seen.get(key, 0) + 1

    def __bool__(self) -> bool:
        return bool(self._seen)

    def __contains__(self, status: os.stat_result) -> bool:
        return (status.st_dev, status.st_ino) in self._seen

    def all_inside(self, status: os.stat_result) -> bool:
        return self._seen.get((status.st_dev, status.st_ino), 0) >= status.st_nlink


def replace(found: Found, owner: int, finish: Callable[[str, os.stat_result], object]) -> bool:
    """Put a copy of the owner's in its place, if the owner may read it; `finish` gives the copy its entries."""
    try:
        source = os.open(found.name, _READ, dir_fd=found.folder)
    except OSError:  # gone or swapped meanwhile
        return False
    try:
        status = os.fstat(source)
        path = f"/proc/self/fd/{source}"
        if not os.path.samestat(status, found.stat) or not acl.may_read(path, status, owner):
            return False
        _copy(source, status, found, owner, finish)
        return True
    finally:
        os.close(source)


def _copy(
    source: int,
    status: os.stat_result,
    found: Found,
    owner: int,
    finish: Callable[[str, os.stat_result], object],
) -> None:
    aside = f".gearshift-{secrets.token_hex(8)}"
    target = os.open(aside, _MAKE, 0o600, dir_fd=found.folder)
    try:
        with os.fdopen(source, "rb", closefd=False) as old, os.fdopen(target, "wb", closefd=False) as new:
            shutil.copyfileobj(old, new, 1 << 20)
        os.fchmod(target, status.st_mode & 0o700)
        os.fchown(target, owner, owner)
        finish(f"/proc/self/fd/{target}", os.fstat(target))
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        os.rename(aside, found.name, src_dir_fd=found.folder, dst_dir_fd=found.folder)
    except BaseException:
        os.unlink(aside, dir_fd=found.folder)
        raise
    finally:
        os.close(target)
