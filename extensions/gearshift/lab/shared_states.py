"""Kept states on a shared disk: copied there by their owner, brought in from there with their owner's consent only.

Others may write where it lies. So it is first copied to where nobody else can, refused there unless it is to the byte
what its owner was shown and signed with their key, and only then a kept state like any other.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gearshift.lab import kept, manifest, own_file
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.manifest import LARGEST, Manifest
from gearshift.lab.own_file import FLAGS
from gearshift.model.errors import GearshiftError, fail
from gearshift.state.container import Reader, Refused

PLACE = "kernel-states"
"""The folder at the root of a disk that holds them, each in a folder of its own name."""
LIST = "manifest.json"
MOST, BLOCK = 100, 4 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_DISK = re.compile(r"[^/.\x00][^/\x00]{0,254}\Z")


@dataclass(frozen=True)
class OnDisk:
    """One of the person's states as it lies there now; `digest` stands for all of it."""

    disk: str
    state: str
    digest: str
    bytes: int
    list: Manifest

    def shown(self) -> dict[str, Any]:
        sessions = {one.kernel_id: one.path for one in reversed(self.list.sessions)}
        kernels = [
            {"kernel_id": one.id, "path": sessions.get(one.id, ""), "name": one.spec}
            for one in self.list.kernels
        ]
        return {
            "disk": self.disk,
            "state": self.state,
            "digest": self.digest,
            "bytes": self.bytes,
            "workspace": f"{self.list.owner}/{self.list.workspace}",
            "kernels": kernels,
        }


@dataclass(frozen=True)
class Consent:
    """A person's yes to what they were shown, until an instant."""

    user: str
    digest: str
    expires_at: datetime


def on_disks(environment: LabEnvironment, home: Path) -> list[dict[str, Any]]:
    """Those of the person on the disks that are attached. What is another's, or was changed, is none of theirs."""
    found = []
    for disk in _names(home / "disks"):
        for state in _names(home / "disks" / disk / PLACE):
            with suppress(GearshiftError):
                found.append(look_at(environment, home, disk, state).shown())
    return found


def look_at(environment: LabEnvironment, home: Path, disk: str, state: str) -> OnDisk:
    """Raises `state_refused` for whatever this person did not sign."""
    with _entered(home, disk, state) as folder:
        return _looked(environment, disk, state, folder)


def copy_out(environment: LabEnvironment, home: Path, state: str, disk: str) -> dict[str, Any]:
    """Onto the disk, whole or not at all. Whoever may read the disk may read it; none but its owner can load it."""
    saved = kept.trusted(environment, state)
    source = manifest.folder_of(environment.state_dir, state)
    root = _root(home, disk)
    try:
        with _folder(root) as top:
            with suppress(FileExistsError):
                os.mkdir(PLACE, dir_fd=top)
            with _folder(PLACE, top) as place:
                _put(source, (LIST, *_files(saved)), place, state)
    except OSError as error:
        there = error.errno in (errno.EEXIST, errno.ENOTEMPTY)
        raise fail(
            "save_failed", cause=f"{disk}: {'it is there already' if there else error.strerror}"
        ) from error
    return look_at(environment, home, disk, state).shown()


def _put(source: Path, names: tuple[str, ...], place: int, state: str) -> None:
    """Every file is made new and no link is followed: others may write there while we do."""
    aside = f".{state}.{secrets.token_hex(4)}"
    os.mkdir(aside, dir_fd=place)
    try:
        with _folder(aside, place) as folder:
            for name in names:
                made = os.open(name, _NEW, 0o666, dir_fd=folder)
                with os.fdopen(made, "wb") as copy, own_file.opened(source / name) as original:
                    shutil.copyfileobj(original, copy, BLOCK)
        os.rename(aside, state, src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True, dir_fd=place)
        raise


def bring_in(
    environment: LabEnvironment,
    home: Path,
    operation: str,
    disk: str,
    state: str,
    consent: Consent,
    now: datetime | None = None,
) -> dict[str, Any]:
    """A kept state of this workspace under the operation's name, and its report. Of what is refused nothing stays."""
    _check_consent(environment, state, consent, now or datetime.now(UTC))
    target = manifest.folder_of(environment.state_dir, operation)
    shutil.rmtree(target, ignore_errors=True)
    try:
        target.mkdir(mode=0o700)
        with _entered(home, disk, state) as folder:
            seen = _looked(environment, disk, state, folder)
            if not hmac.compare_digest(seen.digest, consent.digest):
                raise kept.refused(state, "it is not what you agreed to: it was changed since")
            for name in _files(seen.list):
                _copy(folder, name, target / name)
        return _made_own(environment, target, operation, seen)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise fail("save_failed", cause=f"{disk}: {error.strerror}") from error
    except GearshiftError:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _check_consent(environment: LabEnvironment, state: str, consent: Consent, now: datetime) -> None:
    if consent.user != environment.owner:
        raise kept.refused(state, "only its owner can agree to that")
    if now >= consent.expires_at:
        raise kept.refused(state, "your consent to that is over; look at it again")


def _made_own(environment: LabEnvironment, target: Path, operation: str, seen: OnDisk) -> dict[str, Any]:
    """Every byte is verified where nobody else can write, then its list is signed anew for this workspace."""
    indexes: dict[str, dict[str, Any]] = {}
    for kernel in seen.list.kernels:
        if kernel.file is None:
            continue
        try:
            indexes[kernel.id] = Reader(target / kernel.file, environment.state_key).index
        except Refused as error:
            raise kept.refused(seen.state, str(error)) from error
        if kept.seal(target / kernel.file) != kernel.seal:
            raise kept.refused(seen.state, f"{kernel.file} is not the file that was saved")
    own = replace(seen.list, operation=operation, owner=environment.owner, workspace=environment.workspace)
    manifest.write(target, own, environment.state_key)
    kernels = [
        {**one, "variables": indexes.get(one["kernel_id"], {}).get("variables", [])}
        for one in seen.shown()["kernels"]
    ]
    report = {"operation": operation, "ok": True, "seconds": 0.0, "bytes": seen.bytes, "kernels": kernels}
    manifest.write_json(target / "save.json", report)
    return report


def _looked(environment: LabEnvironment, disk: str, state: str, folder: int) -> OnDisk:
    raw = _read(folder, LIST, state)
    listed = manifest.parse(raw, environment.state_key, state)
    if listed.owner != environment.owner:
        raise kept.refused(state, "it belongs to somebody else")
    for kernel in listed.kernels:
        if kernel.file not in (None, kept.file_name(kernel.id)):
            raise kept.refused(state, "a file of it has a name that is none of ours")
    sizes = {name: _size(folder, name, state) for name in _files(listed)}
    digest = hashlib.sha256(raw)
    for name, size in sizes.items():
        digest.update(f"\n{name} {size}".encode())
    return OnDisk(disk, state, digest.hexdigest(), sum(sizes.values()), listed)


def _files(listed: Manifest) -> list[str]:
    return [kernel.file for kernel in listed.kernels if kernel.file is not None]


def _names(folder: Path) -> list[str]:
    """Not more than a person looks through, whatever others have put there."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))[:MOST]
    except OSError:
        return []


def _root(home: Path, disk: str) -> Path:
    """Where a disk of this name is attached."""
    root = home / "disks" / disk
    if not _DISK.match(disk) or not root.is_dir():
        raise fail("unknown_disk", field="disk", value=disk, allowed=_names(home / "disks"))
    return root


@contextmanager
def _entered(home: Path, disk: str, state: str) -> Iterator[int]:
    """The folder of a state on a disk, reached by no link that another person may have put there."""
    manifest.folder_of(home, state)
    with ExitStack() as opened:
        try:
            top = opened.enter_context(_folder(_root(home, disk)))
            place = opened.enter_context(_folder(PLACE, top))
            folder = opened.enter_context(_folder(state, place))
        except OSError as error:
            raise kept.refused(state, f"there is no folder of it on {disk}") from error
        yield folder


@contextmanager
def _folder(path: Path | str, within: int | None = None) -> Iterator[int]:
    """One below another is no link; the first is the person's own link to the disk."""
    follow = 0 if within is None else os.O_NOFOLLOW
    folder = os.open(path, _FOLDER | follow, dir_fd=within)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _plain(folder: int, name: str, state: str) -> Iterator[int]:
    try:
        file = os.open(name, FLAGS, dir_fd=folder)
    except OSError as error:
        raise kept.refused(state, f"{name} is missing, a link, or cannot be opened") from error
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise kept.refused(state, f"{name} is no plain file")
        yield file
    finally:
        os.close(file)


def _size(folder: int, name: str, state: str) -> int:
    with _plain(folder, name, state) as file:
        return os.fstat(file).st_size


def _read(folder: int, name: str, state: str) -> bytes:
    with _plain(folder, name, state) as file, os.fdopen(os.dup(file), "rb") as opened:
        return opened.read(LARGEST)


def _copy(folder: int, name: str, target: Path) -> None:
    """No more than what it measured: whoever writes there meanwhile fills no disk of ours."""
    with _plain(folder, name, target.parent.name) as file, os.fdopen(os.dup(file), "rb") as source:
        left = os.fstat(file).st_size
        with os.fdopen(os.open(target, _NEW, 0o600), "wb") as copy:
            while left and (piece := source.read(min(left, BLOCK))):
                left -= copy.write(piece)
