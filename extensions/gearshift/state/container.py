"""The file: streams and raw memory, signed as a whole, readable without a copy.

    header (4 KiB)  magic, place of the index, HMAC-SHA256 over both and the index
    data            streams and buffers; large ones begin at a multiple of 4 KiB so that they can be mapped
    index (JSON)    what lies where, the records of the variables, SHA-256 of every 4 MiB of header's rest and data

Nothing of a file is believed before its signature and all its checksums are right, nor when it is somebody else's.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import json
import mmap
import os
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

MAGIC = b"GEARSHIFT STATE\n"
HEADER = 4096
CHUNK = 4 << 20
PAGE = 4096
PIECE = 1 << 20
_PLACE = struct.Struct("<QQ")
_SIGNATURE_AT = len(MAGIC) + _PLACE.size
_SHORTEST_KEY = 16
Span = tuple[int, int]


class StateError(Exception):
    """The base of what can be wrong with a state file."""


class Refused(StateError):
    """The file is not what we wrote, or not ours; nothing of it was used."""


class DiskFull(StateError):
    """No room for the state; nothing is left of the attempt."""


class Writer:
    """Writes aside and takes the real name at the end: whoever looks sees all of it or nothing."""

    def __init__(self, path: Path, key: bytes) -> None:
        check_key(key)
        self._path, self._key = path, key
        self._aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._pool = ThreadPoolExecutor(1)
        self._digests: list[Future[str]] = []
        self._buffers = [bytearray(CHUNK), bytearray(CHUNK)]
        self._filled = 0
        self.at = HEADER

    def __enter__(self) -> Self:
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with _told():
            self._fd = os.open(self._aside, flags, 0o600)
            os.fchmod(self._fd, 0o600)
            os.lseek(self._fd, HEADER, os.SEEK_SET)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True)
        os.close(self._fd)
        self._aside.unlink(missing_ok=True)

    def put(self, data: memoryview) -> Span:
        """Appends; large data begins on a page, small on 64 bytes."""
        return self.put_all([data.cast("B")] if data.nbytes else [], data.nbytes)

    def put_all(self, pieces: Iterable[memoryview], nbytes: int) -> Span:
        """Appends so many bytes that come piece by piece; no two pieces need to be in memory at once."""
        self._pad(PAGE if nbytes >= PAGE else 64)
        start = self.at
        for piece in pieces:
            self._append(piece)
        return start, self.at - start

    def _append(self, data: memoryview) -> None:
        while data.nbytes:
            room = CHUNK - self._filled
            part, data = data[:room], data[room:]
            self._buffers[0][self._filled : self._filled + part.nbytes] = part
            self._filled += part.nbytes
            self.at += part.nbytes
            if self._filled == CHUNK:
                self._flush()

    def finish(self, index: Mapping[str, Any], *, durable: bool = True) -> int:
        """Signs, gives the file its name; `durable`: on the disk before that, so that it outlives a power cut. Returns
        its size."""
        self._pad(64)
        self._flush()
        with _told():
            body = {**index, "chunks": [digest.result() for digest in self._digests]}
            raw = json.dumps(body, separators=(",", ":")).encode()
            _write_all(self._fd, memoryview(raw))
            head = MAGIC + _PLACE.pack(self.at, len(raw))
            os.pwrite(self._fd, head + _sign(self._key, head, raw), 0)
            if durable:
                os.fsync(self._fd)
            os.rename(self._aside, self._path)
            if durable:
                _sync_folder(self._path.parent)
        return self.at + len(raw)

    def _pad(self, multiple: int) -> None:
        missing = -self.at % multiple
        while missing:
            step = min(missing, CHUNK - self._filled)
            self._buffers[0][self._filled : self._filled + step] = bytes(step)
            self._filled += step
            self.at += step
            missing -= step
            if self._filled == CHUNK:
                self._flush()

    def _flush(self) -> None:
        """Checksum and write work on the same private copy, so a thread that goes on computing spoils neither."""
        if not self._filled:
            return
        if self._digests:
            self._digests[-1].result()
        part = memoryview(self._buffers[0])[: self._filled]
        self._digests.append(self._pool.submit(_digest, part))
        with _told():
            _write_all(self._fd, part)
        self._buffers.reverse()
        self._filled = 0


class Reader:
    """A verified file, mapped privately: what is changed in memory never reaches the file."""

    def __init__(self, path: Path, key: bytes) -> None:
        check_key(key)
        with _opened(path) as fd:
            size = os.fstat(fd).st_size
            if size < HEADER:
                raise Refused("the file is cut short")
            self._map = mmap.mmap(fd, 0, access=mmap.ACCESS_COPY)
            self._view = memoryview(self._map)
            self.index = self._verified_index(key)
            self._verify_chunks(fd)

    def view(self, span: Span) -> memoryview:
        """The bytes themselves; pages are read when they are touched."""
        start, length = span
        return self._view[start : start + length]

    def _verified_index(self, key: bytes) -> dict[str, Any]:
        head = bytes(self._view[:_SIGNATURE_AT])
        if not head.startswith(MAGIC):
            raise Refused("the file is no kernel state")
        at, length = _PLACE.unpack_from(head, len(MAGIC))
        if at < HEADER or at + length != len(self._view):
            raise Refused("the file is cut short")
        raw = bytes(self._view[at : at + length])
        signature = bytes(self._view[_SIGNATURE_AT : _SIGNATURE_AT + 32])
        if not hmac.compare_digest(signature, _sign(key, head, raw)):
            raise Refused("the signature is wrong: the file was changed or made with another key")
        self._end = at
        index: dict[str, Any] = json.loads(raw)
        return index

    def _verify_chunks(self, fd: int) -> None:
        """Read, not looked at through the map: a page of a map that is touched costs more than to hash it."""
        spans = [(at, min(CHUNK, self._end - at)) for at in range(HEADER, self._end, CHUNK)]
        with ThreadPoolExecutor(min(4, len(os.sched_getaffinity(0)))) as pool:
            found = list(pool.map(lambda span: _digest_of(fd, *span), spans))
        if found != self.index["chunks"]:
            raise Refused("a checksum is wrong: the file was changed or damaged")


def check_key(key: bytes) -> None:
    """A key that is too short to protect anything is a mistake of the caller."""
    if len(key) < _SHORTEST_KEY:
        raise ValueError(f"key: {len(key)} bytes are too few, at least {_SHORTEST_KEY} are needed")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise Refused(f"there is no file {path.name}") from error
    except OSError as error:
        raise Refused(f"{path.name} cannot be opened: {error.strerror}") from error
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise Refused(f"{path.name} is no regular file")
        if facts.st_uid != os.geteuid():
            raise Refused(f"{path.name} belongs to somebody else")
        if facts.st_mode & 0o077:
            raise Refused(f"{path.name} could be read or changed by others")
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull("the disk is full") from error
        raise StateError(f"writing failed: {error.strerror}") from error


def _write_all(fd: int, data: memoryview) -> None:
    while data.nbytes:
        data = data[os.write(fd, data) :]


def _digest(data: memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(fd: int, at: int, length: int) -> str:
    """Of a stretch of the file; what is cut short has another."""
    digest, piece = hashlib.sha256(), memoryview(bytearray(PIECE))
    end = at + length
    while at < end and (got := os.preadv(fd, [piece[: end - at]], at)):
        digest.update(piece[:got])
        at += got
    return digest.hexdigest()


def _sign(key: bytes, head: bytes, index: bytes) -> bytes:
    return hmac.new(key, head + index, hashlib.sha256).digest()


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
