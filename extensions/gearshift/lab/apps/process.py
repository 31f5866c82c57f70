"""The process of an app: started with the server, in the same tree, its output kept for the page that says how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import IO

from gearshift.lab.apps import answering
from gearshift.model.app import App
from gearshift.train.gang import log_limit

LOOK_S = 0.1
NOT_STARTED = 126
"""What a shell says of a command that it could not execute."""
LAST_LINES = 25
SOCKET = "app.sock"
LOG = "app.log"
LOG_BYTES = 16 << 20
"""Of a log that grows beyond it the beginning and the end are kept."""
TAIL_BYTES = 64 << 10
KEPT = (
    "JUPYTER_PATH",
    "GEARSHIFT_PACKAGES",
    "GEARSHIFT_IMAGE_PREFIX",
    "GEARSHIFT_KERNEL_PARTS",
    "GEARSHIFT_SAFE_START",
)
OURS = ("JUPYTER", "GEARSHIFT_", "JPY_")
"""Variables that begin so are the server's: its tokens, keys and settings are no app's business."""


class AppState(StrEnum):
    """What can be said of it."""

    STARTING = "starting"
    READY = "ready"
    ENDED = "ended"
    FOREIGN = "foreign"
    """Something that is not ours answers on its port."""


class AppProcess:
    """One app; `start` may be called again once it has ended."""

    def __init__(self, app: App, base: str, port: int, runtime: Path, state: Path, home: Path) -> None:
        self.app = app
        self.base = base
        self.port = port if app.listens == "port" else 0
        self.socket = str(runtime / SOCKET) if app.listens == "socket" else None
        self.log = state / LOG
        self._home = home
        self._process: asyncio.subprocess.Process | None = None
        self._ready = self._foreign = self._refused = self._lives = False

    @property
    def state(self) -> AppState:
        if not self._lives and self.exit_code is not None:
            return AppState.ENDED
        if self._foreign:
            return AppState.FOREIGN
        return AppState.READY if self._ready else AppState.STARTING

    @property
    def exit_code(self) -> int | None:
        return NOT_STARTED if self._refused else self._process.returncode if self._process else None

    @property
    def ready_url(self) -> str:
        """Where it answers once it is up, as the app itself is told."""
        return (self.base if self.app.sees_base else "") + self.app.ready

    async def start(self) -> None:
        """Start it unless it lives, however often that is asked; returns when it has ended, with nothing of it left to
        hold its port."""
        if self._lives:
            return
        self._lives, self._ready, self._foreign, self._refused = True, False, False, False
        try:
            await self._live()
        finally:
            self._lives = False

    async def _live(self) -> None:
        self._make_way()
        with _private(self.log) as output:
            process = self._process = await asyncio.create_subprocess_exec(
                *self._words(),
                cwd=self._home,
                env=environment(os.environ, self.app, self._places()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        await asyncio.gather(self._until_ready(process), self._until_ended(process))
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def refused(self, why: str) -> None:
        """It never ran; the page says so."""
        self._refused = True
        with _private(self.log) as output:
            output.write(why.encode())

    def last_lines(self) -> list[str]:
        """The end of what it said."""
        with suppress(OSError), self.log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
        return []

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        """A port that another uid took before the app did is never spoken to: cookies would go there."""
        while process.returncode is None and not self._ready and not self._foreign:
            if self.port and answering.is_foreign(self.port, os.geteuid()):
                self._foreign = True
            elif await answering.answers(self.port, self.socket, self.ready_url):
                self._ready = True
            else:
                await asyncio.sleep(LOOK_S)

    async def _until_ended(self, process: asyncio.subprocess.Process) -> None:
        """Meanwhile its log stays within its limit."""
        while process.returncode is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), log_limit.PAUSE_S)
            with suppress(OSError):  # a disk that knows no holes: the log grows on
                log_limit.shorten(self.log, LOG_BYTES)

    def _words(self) -> list[str]:
        places = self._places()
        return [word.format(**places) for word in self.app.command]

    def _places(self) -> Mapping[str, str]:
        starter = self._home / "apps" / self.app.id / self.app.starter_name
        return {
            "port": str(self.port),
            "socket": self.socket or "",
            "base": self.base,
            "starter": str(starter if self.app.starter else starter.parent),
        }

    def _make_way(self) -> None:
        """No socket of an earlier start, and a first file of the person's own; one that is there is left alone."""
        if self.socket:
            Path(self.socket).unlink(missing_ok=True)
        folder = self._home / "apps" / self.app.id
        folder.mkdir(parents=True, exist_ok=True)
        if self.app.starter and not (folder / self.app.starter_name).exists():
            (folder / self.app.starter_name).write_text(self.app.starter, "utf-8")


def environment(ours: Mapping[str, str], app: App, places: Mapping[str, str]) -> dict[str, str]:
    """What an app sees: the server's environment without what belongs to the server."""
    env = {name: value for name, value in ours.items() if name in KEPT or not name.startswith(OURS)}
    return env | {name: value.format(**places) for name, value in app.env.items()}


def _private(path: Path) -> IO[bytes]:
    """Written anew; for its owner alone."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
