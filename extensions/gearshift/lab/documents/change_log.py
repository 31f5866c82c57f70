"""The changes of one shared document in a file, each appended in the instant in which it happens.

An append is one write to the file cache: it outlives a killed server, not a lost box, and takes microseconds. A record is
its length, checksum and time, then the change. An empty one stands for changes that could not be kept (a full disk).
"""

from __future__ import annotations

import logging
import os
import struct
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger("gearshift.documents")

_HEAD = struct.Struct("<IId")
GAP = b""
LONG_BYTES = 8 << 20
"""More than this is put together into one change when the document is next saved."""


@dataclass(frozen=True)
class Kept:
    """The changes with their times; `is_whole` when none is missing between them; how far the file can be read."""

    changes: list[tuple[float, bytes]]
    is_whole: bool
    readable_bytes: int


class ChangeLog:
    """Opened anew for each append: the file may have been replaced by another process in between."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._has_gap = False
        self._appended = 0

    @property
    def is_long(self) -> bool:
        return self._appended > LONG_BYTES

    def append(self, change: bytes) -> None:
        """A change that cannot be kept stops nobody: pages have it, and the gap is marked once there is room again."""
        record = (_record(GAP) if self._has_gap else b"") + _record(change)
        try:
            _write(self._file, record)
        except OSError as error:
            if not self._has_gap:
                log.warning("changes cannot be kept in %s: %s", self._file.name, error)
            self._has_gap = True
        else:
            self._has_gap = False
            self._appended += len(record)

    def replace(self, change: bytes) -> None:
        """All there is, as one change."""
        new = self._file.with_suffix(".new")
        try:
            new.unlink(missing_ok=True)
            _write(new, _record(change))
            new.replace(self._file)
        except OSError as error:
            log.warning("%s was not put together: %s", self._file.name, error)
        else:
            self._has_gap, self._appended = False, 0

    def read(self) -> Kept:
        """Up to a record that was cut off, by the end of the server that wrote it."""
        try:
            raw = self._file.read_bytes()
        except FileNotFoundError:
            raw = b""
        at, changes, is_whole = 0, [], True
        while at + _HEAD.size <= len(raw):
            length, checksum, when = _HEAD.unpack_from(raw, at)
            change = raw[at + _HEAD.size : at + _HEAD.size + length]
            if len(change) < length or zlib.crc32(change) != checksum:
                break
            at += _HEAD.size + length
            if change == GAP:
                is_whole = False
            else:
                changes.append((when, change))
        return Kept(changes, is_whole, at)

    def take_over(self) -> Kept:
        """Read it in order to go on with it: what was cut off is taken away, so that what is appended can be read."""
        kept = self.read()
        if self._file.exists() and self._file.stat().st_size > kept.readable_bytes:
            os.truncate(self._file, kept.readable_bytes)
        return kept


def _record(change: bytes) -> bytes:
    return _HEAD.pack(len(change), zlib.crc32(change), time.time()) + change


def _write(file: Path, data: bytes) -> None:
    """All of it or nothing."""
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        before = os.fstat(handle).st_size
        if os.write(handle, data) < len(data):
            os.ftruncate(handle, before)
            raise OSError("there is no room left")
    finally:
        os.close(handle)
