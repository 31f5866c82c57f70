"""Saved kernel state as it lies on this box: measured and removed by us, in folders that belong to people.

A person may put anything in their folder, links included: nothing is followed, everything is reached from the open
descriptor of a folder that only we can rename.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gearshift_hub.paths import Home

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def size(home: Home, short: str, state: str) -> int | None:
    """Bytes of its files; None where there is no such folder."""
    try:
        with _opened(home, short) as above:
            folder = os.open(state, FOLDER, dir_fd=above)
            try:
                return sum(entry.stat(follow_symlinks=False).st_size for entry in _files(folder))
            finally:
                os.close(folder)
    except OSError:
        return None


def remove(home: Home, short: str, state: str) -> None:
    """Gone afterwards; what was gone already is success."""
    with suppress(FileNotFoundError), _opened(home, short) as above:
        _remove(above, state)


def remove_all(home: Home, short: str) -> None:
    """All that was ever saved of a workspace, and its folder."""
    with suppress(FileNotFoundError):
        above = os.open(home.kernels, FOLDER)
        try:
            _remove(above, short)
        finally:
            os.close(above)


def _remove(above: int, name: str) -> None:
    try:
        shutil.rmtree(name, dir_fd=above)
    except NotADirectoryError:
        os.unlink(name, dir_fd=above)
    except FileNotFoundError:
        return
    except OSError:
        if not os.path.islink(f"/proc/self/fd/{above}/{name}"):
            raise
        os.unlink(name, dir_fd=above)


def _files(folder: int) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries


@contextmanager
def _opened(home: Home, short: str) -> Iterator[int]:
    descriptor = os.open(home.kernels / short, FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
