"""A PostgreSQL server of our own for tests: on a socket in a private folder, without safety nets, gone afterwards."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import psycopg

READY_S = 30.0
PR_SET_PDEATHSIG = 1
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")


def binaries() -> Path:
    """Where initdb and postgres are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    path = found[-1] if found else Path(shutil.which("postgres") or "")
    if not path.is_file():
        raise RuntimeError("PostgreSQL is not installed: install the Debian package `postgresql`")
    return path.parent


class Postgres:
    """Started by `start`, ended by `stop`; `url(name)` names a database in it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gearshift-test-pg-", dir="/var/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        self._uid = _uid()

    def start(self) -> Postgres:
        self.folder.chmod(0o700)
        if self._uid is not None:
            os.chown(self.folder, self._uid, -1)
        data = self.folder / "data"
        init = ["initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"]
        self._run([*init, "--locale=C"])
        settings = [word for setting in FAST for word in ("-c", setting)]
        self._process = subprocess.Popen(
            [str(binaries() / "postgres"), "-D", str(data), "-k", str(self.folder), "-h", "", *settings],
            stdout=(self.folder / "log").open("wb"),
            stderr=subprocess.STDOUT,
            user=self._uid,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - one prctl; a killed test run leaves no server
        )
        self._wait()
        return self

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={quote(str(self.folder), safe='')}"

    def create(self, database: str) -> str:
        """A new, empty database."""
        with self._connect() as connection:
            connection.execute(f'CREATE DATABASE "{database}"')
        return self.url(database)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url("postgres"), autocommit=True)

    def _wait(self) -> None:
        deadline = time.monotonic() + READY_S
        while True:
            try:
                self._connect().close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _run(self, command: list[str]) -> None:
        program = [str(binaries() / command[0]), *command[1:]]
        subprocess.run(program, check=True, capture_output=True, user=self._uid, cwd=self.folder)


def _end_with_parent() -> None:
    """After the uid has changed, which would undo it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


def _uid() -> int | None:
    """PostgreSQL refuses to run as root: then as its own account, or as nobody."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise RuntimeError("there is no account to run PostgreSQL as")
