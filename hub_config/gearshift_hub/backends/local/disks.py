"""Disks on one box: a folder per disk id, shared by an ACL entry per uid, measured by a walk, deleted to a bin.

As root the folder belongs to its owner's uid and each member has an entry at the root (the gate: it decides at
once) and by default below. Files saved by rename or asked for as 0600 lose that entry; `tend` gives it back.
Not as root there is one uid, so a disk is a plain folder and membership is only what control says.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gearshift.model.errors import fail

from gearshift_hub.backends.local import acl, hard_links
from gearshift_hub.backends.local.tree_walk import Found, walk

BIN = ".bin"
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Holders:
    """Who may use a disk: the owner's uid and the members' uids with their mode."""

    owner: int
    members: Mapping[int, acl.Mode]

    def allowed(self) -> dict[int, int]:
        """What each uid may; the owner too, since members' files belong to who made them."""
        return {self.owner: acl.ALL} | {uid: acl.ALLOWED[mode] for uid, mode in self.members.items()}


@dataclass(frozen=True)
class Tended:
    """What a walk over a disk saw and did."""

    used_bytes: int
    entries: int
    repaired: int
    too_deep: int


class LocalDisks:
    """The disks below one folder. `people` is the uid range of persons, or None where all share one uid."""

    def __init__(self, folder: Path, people: range | None) -> None:
        self.folder = folder
        self.people = people

    def path(self, disk: str) -> Path:
        """Where a disk lies. Ids are made by us; one that is not a plain name is refused."""
        if not disk.isascii() or not disk.replace("-", "").isalnum():
            raise fail("bad_path", field="disk", value=disk)
        return self.folder / disk

    def create(self, disk: str, holders: Holders) -> Path:
        """Make the folder; doing it again finishes what was begun."""
        path = self.path(disk)
        draft = self.folder / f".{disk}.new"
        if not path.exists():
            draft.mkdir(mode=0o700, exist_ok=True)
            if self.people is not None:
                os.chown(draft, holders.owner, holders.owner)
            draft.rename(path)
        self.admit(disk, holders)
        return path

    def exists(self, disk: str) -> bool:
        return self.path(disk).is_dir()

    def admit(self, disk: str, holders: Holders) -> None:
        """Set the gate: from this instant the root opens for these people and nobody else."""
        if self.people is None:
            return
        path = str(self.path(disk))
        entries = acl.encode(acl.ALL, holders.allowed(), acl.ALL)
        acl.put(path, acl.ACCESS, entries)
        acl.put(path, acl.DEFAULT, entries)

    def tend(self, disk: str, holders: Holders) -> Tended:
        """Measure the disk and give back the entries that renames, 0600 and 0700 have lost."""
        seen: set[tuple[int, int]] = set()
        used = entries = repaired = too_deep = 0
        names = hard_links.Names()
        for found in walk(self.path(disk)):
            entries += 1
            too_deep += found.too_deep
            used += _blocks(found.stat, seen)
            if not self._ours(found.stat):
                continue
            if _has_names_elsewhere_perhaps(found.stat, holders):
                names.add(found.stat)
            else:
                repaired += _repair(found, holders)
        if names:
            repaired += self._tend_named(disk, holders, names)
        return Tended(used, entries, repaired, too_deep)

    def _tend_named(self, disk: str, holders: Holders, names: hard_links.Names) -> int:
        """A second walk, only for files with several names that belong to nobody of this disk."""
        done = 0
        for found in walk(self.path(disk)):
            if found.stat in names and names.all_inside(found.stat):
                done += _repair(found, holders)
            elif found.stat in names:
                done += hard_links.replace(
                    found, holders.owner, lambda path, status: _put_entries(path, status, holders)
                )
        return done

    def bin(self, disk: str) -> None:
        """Put a disk where nobody but us can reach it. Binning what is binned or gone is success."""
        place = self.folder / BIN
        place.mkdir(mode=0o700, exist_ok=True)
        if self.path(disk).exists():
            self.path(disk).rename(place / disk)

    def take_back(self, disk: str) -> None:
        """Undo `bin`; already back is success."""
        binned = self.folder / BIN / self.path(disk).name
        if binned.exists():
            binned.rename(self.path(disk))

    def purge(self, disk: str) -> None:
        """Delete a binned disk for good; `rm` goes as deep as people nest folders."""
        place = self.folder / BIN / self.path(disk).name
        subprocess.run(["rm", "-rf", "--one-file-system", "--", str(place)], check=True)

    def _ours(self, status: os.stat_result) -> bool:
        """Only what belongs to a person is touched: a hard link to a system file stays what it is."""
        return self.people is not None and status.st_uid in self.people


def used_bytes(folder: Path) -> int:
    """What a folder takes up on the medium, each inode once."""
    seen: set[tuple[int, int]] = set()
    return sum(_blocks(found.stat, seen) for found in walk(folder))


def _blocks(status: os.stat_result, seen: set[tuple[int, int]]) -> int:
    if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
        key = (status.st_dev, status.st_ino)
        if key in seen:
            return 0
        seen.add(key)
    return status.st_blocks * 512


def _has_names_elsewhere_perhaps(status: os.stat_result, holders: Holders) -> bool:
    """A file with several names that does not belong to somebody who may write here."""
    is_linked = stat.S_ISREG(status.st_mode) and status.st_nlink > 1
    return is_linked and holders.allowed().get(status.st_uid) != acl.ALL


def _repair(found: Found, holders: Holders) -> int:
    """Give one file or folder its entries; 1 when something changed. Vanished meanwhile: nothing to do."""
    if not (stat.S_ISREG(found.stat.st_mode) or stat.S_ISDIR(found.stat.st_mode)):
        return 0
    try:
        descriptor = os.open(found.name, _LOOK, dir_fd=found.folder)
    except FileNotFoundError:
        return 0
    try:
        same = os.path.samestat(os.fstat(descriptor), found.stat)
        return int(same and _put_entries(f"/proc/self/fd/{descriptor}", found.stat, holders))
    finally:
        os.close(descriptor)


def _put_entries(path: str, status: os.stat_result, holders: Holders) -> bool:
    allowed = holders.allowed()
    changed = False
    if allowed.get(status.st_uid) != acl.ALL:
        os.chown(path, holders.owner, holders.owner)
        changed = True
    own = (status.st_mode >> 6) & acl.ALL
    changed |= acl.put(path, acl.ACCESS, acl.encode(own, allowed, own))
    if stat.S_ISDIR(status.st_mode):
        changed |= acl.put(path, acl.DEFAULT, acl.encode(acl.ALL, allowed, acl.ALL))
    return changed
