"""The links `~/disks/NAME` and `~/datasets/NAME`: put into a home that its person may change at any moment.

The home is entered by descriptors that follow no link, nothing of the person's is overwritten, and no owner or
mode of an existing entry is changed: whatever they planted there, we write only into a folder of theirs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gearshift_hub.backends.local.paths_within import FOLDER, is_within


@dataclass(frozen=True)
class Placed:
    """What came of a request for links: the names in place, and those where something of the person's lies."""

    placed: tuple[str, ...]
    blocked: tuple[str, ...]


def place(home: Path, folder: str, wanted: Mapping[str, Path], ours: Path, uid: int, gid: int) -> Placed:
    """Make `home/folder` hold exactly these links among those that lead below `ours`; other entries stay."""
    try:
        with _entered(home, folder, uid, gid) as inside:
            _remove_stale(inside, wanted, ours)
            placed = tuple(name for name, target in wanted.items() if _link(inside, name, target, ours))
    except (NotADirectoryError, FileExistsError):  # the person has put a file or a link in the folder's place
        placed = ()
    return Placed(placed, tuple(name for name in wanted if name not in placed))


@contextmanager
def _entered(home: Path, folder: str, uid: int, gid: int) -> Iterator[int]:
    top = os.open(home, FOLDER)
    try:
        made = _make(top, folder)
        inside = os.open(folder, FOLDER, dir_fd=top)
        try:
            if made and os.geteuid() == 0 and os.fstat(inside).st_uid == 0:
                os.fchown(inside, uid, gid)
            yield inside
        finally:
            os.close(inside)
    finally:
        os.close(top)


def _make(top: int, folder: str) -> bool:
    try:
        os.mkdir(folder, 0o755, dir_fd=top)
    except FileExistsError:
        return False
    return True


def _remove_stale(inside: int, wanted: Mapping[str, Path], ours: Path) -> None:
    for name in os.listdir(inside):
        if name not in wanted and _leads_below(inside, name, ours):
            _unlink(inside, name)


def _link(inside: int, name: str, target: Path, ours: Path) -> bool:
    if _target(inside, name) == target:
        return True
    if _leads_below(inside, name, ours):
        _unlink(inside, name)
    try:
        os.symlink(target, name, dir_fd=inside)
    except FileExistsError:
        return False
    return True


def _leads_below(inside: int, name: str, ours: Path) -> bool:
    target = _target(inside, name)
    return target is not None and is_within(ours, target)


def _target(inside: int, name: str) -> Path | None:
    try:
        return Path(os.readlink(name, dir_fd=inside))
    except OSError:  # absent, or no link
        return None


def _unlink(inside: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=inside)
    except FileNotFoundError:
        return
