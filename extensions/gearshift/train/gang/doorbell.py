"""How a waiting supervisor is given a job: two named pipes in a folder that only who starts jobs can write to.

`wake` carries the folder of a job to it; that it can be opened for writing means that somebody waits at its other end.
`taken` carries the answer back: the job has begun, and its status says so. The kernel checks who may: the person whose
supervisor waits can read the one and write the other, and nobody else can do either.
"""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Collection
from pathlib import Path

WAKE, TAKEN = "wake", "taken"
TAKEN_WORD = b"taken\n"
LINE_BYTES = select.PIPE_BUF


def make(folder: Path, gid: int | None = None) -> None:
    """The pipes of a new folder; members of `gid` may wait there."""
    for name, mode in ((WAKE, 0o640), (TAKEN, 0o660)):
        os.mkfifo(folder / name, mode)
        if gid is not None:
            os.chown(folder / name, -1, gid)
        (folder / name).chmod(mode)


def is_waited_at(folder: Path) -> bool:
    """Whether somebody is ready for a job."""
    try:
        os.close(os.open(folder / WAKE, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def ring(folder: Path, job: Path, seconds: float) -> bool:
    """Hand over the job in this folder; false when it was not begun in time. Then nobody may begin it any more."""
    taken = os.open(folder / TAKEN, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        wake = os.open(folder / WAKE, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(wake, os.fsencode(job) + b"\n")
        finally:
            os.close(wake)
        poll = select.poll()
        poll.register(taken, select.POLLIN)
        return bool(poll.poll(seconds * 1000)) and os.read(taken, len(TAKEN_WORD)) == TAKEN_WORD
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.EPIPE, errno.EAGAIN):
            raise
        return False
    finally:
        os.close(taken)


class Doorbell:
    """The waiting end. Its descriptor becomes readable when a job came, or when somebody looked whether we wait."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken = os.open(folder / TAKEN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._wake = self._open()

    def wait(self, others: Collection[int], seconds: float) -> tuple[Path | None, set[int]]:
        """The folder of a job, if one came within that time; and which of the other descriptors have news."""
        poll = select.poll()
        for descriptor in (self._wake, *others):
            poll.register(descriptor, select.POLLIN)
        until = time.monotonic() + seconds
        while True:
            events = {descriptor for descriptor, _ in poll.poll(max(0.0, until - time.monotonic()) * 1000)}
            job = self._read() if self._wake in events else None
            news = events.intersection(others)
            if job is not None or news or time.monotonic() >= until:
                return job, news
            if self._wake in events:
                poll.unregister(self._wake)
                self._open_again()
                poll.register(self._wake, select.POLLIN)

    def say_taken(self) -> None:
        os.write(self._taken, TAKEN_WORD)
        self.close()

    def close(self) -> None:
        os.close(self._wake)
        os.close(self._taken)

    def _read(self) -> Path | None:
        try:
            line = os.read(self._wake, LINE_BYTES)
        except BlockingIOError:  # one who looked has gone, and the next is there and has not written yet
            return None
        return Path(os.fsdecode(line[:-1])) if line.endswith(b"\n") else None

    def _open_again(self) -> None:
        """Whoever looked has gone, and a pipe without a writer tells that for ever: another one does not."""
        before, self._wake = self._wake, self._open()
        os.close(before)

    def _open(self) -> int:
        return os.open(self._folder / WAKE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
