"""One writer: control holds a lock on its database; a newcomer ends the recorded predecessor and takes over.

On one box the lock is a file beside the database, with pid and start time of its holder. A PostgreSQL database may be
reached from several boxes: there a session of the database holds an advisory lock as well, as long as it lives.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from gearshift_hub.backends.local import process_table

POLITE_S = 5.0
ELSEWHERE_S = 15.0
POLL_S = 0.1
LOCK_NUMBER = 0x67656172
"""The advisory lock of control in its PostgreSQL database."""


class NotTheWriterError(Exception):
    """Another control writes to this database, and could not be ended."""


class WriterLock:
    """Held from `take` until the process ends or `release`."""

    def __init__(self, file: IO[str], session: Connection | None) -> None:
        self._file = file
        self._session = session

    @classmethod
    def take(cls, path: Path, engine: Engine, *, patience_s: float = ELSEWHERE_S) -> WriterLock:
        """The lock, after ending whoever holds it on this box; another box's control is waited for."""
        file = _take_file(path)
        try:
            return cls(file, _take_session(engine, patience_s))
        except NotTheWriterError:
            file.close()
            raise

    def still_held(self) -> bool:
        """Whether the database still knows our lock; on SQLite the file cannot be lost."""
        if self._session is None:
            return True
        try:
            self._session.execute(text("SELECT 1"))
            self._session.commit()
        except DBAPIError:
            return False
        return True

    def release(self) -> None:
        if self._session is not None:
            with suppress(DBAPIError):
                self._session.execute(text("SELECT pg_advisory_unlock(:number)"), {"number": LOCK_NUMBER})
            self._session.close()
        self._file.close()


def _take_file(path: Path) -> IO[str]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = path.open("a+")
    if not _try(file):
        _end_holder(file)
        deadline = time.monotonic() + POLITE_S
        while not _try(file):
            if time.monotonic() > deadline:
                file.close()
                raise NotTheWriterError(f"another control holds {path} and does not let go")
            time.sleep(POLL_S)
    _sign(file)
    return file


def _try(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _end_holder(file: IO[str]) -> None:
    """TERM, then KILL, exactly the process that wrote its name into the file."""
    file.seek(0)
    try:
        said = json.loads(file.read())
        pid, start, boot = int(said["pid"]), int(said["start"]), str(said["boot"])
    except (ValueError, KeyError, TypeError):
        return
    if boot != process_table.boot_id() or not process_table.is_alive(pid, start):
        return
    process_table.send(pid, start, signal.SIGTERM)
    if not process_table.wait_for_end(pid, start, POLITE_S):
        process_table.send(pid, start, signal.SIGKILL)
        process_table.wait_for_end(pid, start, POLITE_S)


def _sign(file: IO[str]) -> None:
    me = process_table.read(os.getpid())
    said = {"pid": os.getpid(), "start": me.start if me else 0, "boot": process_table.boot_id()}
    file.seek(0)
    file.truncate()
    file.write(json.dumps(said))
    file.flush()


def _take_session(engine: Engine, patience_s: float) -> Connection | None:
    """A database session of our own that holds the advisory lock."""
    if engine.dialect.name != "postgresql":
        return None
    session = engine.connect()
    deadline = time.monotonic() + patience_s
    while not session.scalar(text("SELECT pg_try_advisory_lock(:number)"), {"number": LOCK_NUMBER}):
        session.rollback()
        if time.monotonic() > deadline:
            session.close()
            raise NotTheWriterError("another control writes to this database")
        time.sleep(POLL_S)
    session.commit()
    return session
