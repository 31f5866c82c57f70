"""The shared store of data sets: each materialised once per deployment, checked by hash, read-only for everybody.

`STORE/<id>/<version>/` appears by one rename after every byte is written, checked and on the medium; two who ask at
once wait for one lock and get one copy. The version is made of the files' hashes, so equal content is never copied
twice and a changed card never changes what somebody is reading.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gearshift.model.dataset import Card, DatasetFile
from gearshift.model.errors import fail

from gearshift_hub.backends.local.dataset_makers import make, readme
from gearshift_hub.backends.local.paths_within import resolve_within

README = "README.md"
_DRAFT = ".new-"


class LocalDatasets:
    """The store below one folder."""

    def __init__(self, store: Path) -> None:
        self.store = store

    def path(self, card: Card) -> Path:
        """Where this card's files are, or will be."""
        return self.store / card.id / version(card)

    def is_there(self, card: Card) -> bool:
        return self.path(card).is_dir()

    def materialise(self, card: Card) -> Path:
        """Make sure the files are there; blocks while somebody else makes them."""
        place = self.path(card)
        if place.is_dir():
            return place
        place.parent.mkdir(exist_ok=True)
        os.chmod(place.parent, 0o755)  # noqa: S103 - whatever the umask, everybody may pass
        with _locked(place.parent / ".lock"):
            if not place.is_dir():
                _remove_drafts(place.parent)
                _build(card, place)
        return place

    def damaged(self, card: Card) -> list[str]:
        """The files that are missing or differ from the card; empty when all is well."""
        return [file.path for file in card.files if _hash_of(self.path(card) / file.path) != file.sha256]


def version(card: Card) -> str:
    """A short name of the content."""
    listing = "\n".join(f"{file.sha256}  {file.path}" for file in sorted(card.files, key=lambda f: f.path))
    return hashlib.sha256(listing.encode()).hexdigest()[:12]


def _build(card: Card, place: Path) -> None:
    draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=place.parent))
    try:
        _fill(card, draft)
        _seal(draft)
        draft.rename(place)
        _sync(place.parent)
    except OSError as error:
        raise fail("data_failed", cause=error.strerror or str(error), value=card.id) from error
    finally:
        _remove(draft)


def _fill(card: Card, draft: Path) -> None:
    wanted = {file.path: file for file in card.files}
    for path, content in make(card):
        _check(card, wanted.pop(path, None), path, content)
        _write(draft, path, content)
    if wanted:
        raise fail(
            "data_failed", cause=f"{', '.join(wanted)} missing from {card.source.package}", value=card.id
        )
    _write(draft, README, readme(card).encode())


def _check(card: Card, file: DatasetFile | None, path: str, content: bytes) -> None:
    if file is None:
        raise fail("data_failed", cause=f"{path} is not on the card", value=card.id)
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        cause = f"{path} has sha256 {found}, not {file.sha256}"
        raise fail("data_failed", cause=cause, value=card.id, found=found, expected=file.sha256)


def _write(draft: Path, path: str, content: bytes) -> None:
    target = resolve_within(draft, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), 0o444)
        os.fsync(file.fileno())


def _seal(draft: Path) -> None:
    """Readable by everybody, writable by nobody, on the medium."""
    for folder, _, _ in os.walk(draft, topdown=False):
        os.chmod(folder, 0o555)  # noqa: S103 - public data: everybody reads, nobody writes
        _sync(Path(folder))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_drafts(folder: Path) -> None:
    """What a killed maker left; nobody else works here while we hold the lock."""
    for left in folder.glob(f"{_DRAFT}*"):
        _remove(left)


def _remove(folder: Path) -> None:
    if folder.is_dir():
        for inside, _, _ in os.walk(folder):
            os.chmod(inside, 0o700)
        shutil.rmtree(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _hash_of(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
