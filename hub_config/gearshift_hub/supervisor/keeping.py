"""One part kept alive: started, waited for, started again at once when it ends, ended when asked."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gearshift_hub.paths import Home
from gearshift_hub.supervisor import records
from gearshift_hub.supervisor.parts import Part
from gearshift_hub.supervisor.trouble import CannotStart

READY_S = 60.0
POLL_S = 0.05
MANY, WITHIN_S = 5, 30.0
"""A part that ends so often in so short a time is broken, not unlucky: from then on there is a pause before each try."""
PAUSE_S = 5.0
POLITE_S = 10.0
LOG_LIMIT = 16 * 1024 * 1024


class Kept:
    """A part and its process."""

    def __init__(self, part: Part, home: Home, say: Callable[[str], None]) -> None:
        self.part = part
        self._home = home
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._ends: deque[float] = deque(maxlen=MANY)
        self._ending = False

    @property
    def log(self) -> Path:
        return self._home.logs / f"{self.part.name}.log"

    async def start(self) -> None:
        """Start the process and record it."""
        _rotate(self.log)
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self.part.argv,
                env=self.part.env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._home.root,
                start_new_session=True,
            )
        records.record(self._home, self.part.name, self._process.pid)

    async def until_ready(self) -> None:
        """Return once it answers; a process that ends before, or never answers, refuses the whole start."""
        deadline = time.monotonic() + READY_S
        while not await self.part.ready():
            process = self._process
            if process is None or process.returncode is not None:
                code = process.returncode if process else None
                raise CannotStart(f"{self.part.name} ended at start (exit {code}). {self._last_words()}")
            if time.monotonic() > deadline:
                raise CannotStart(
                    f"{self.part.name} does not answer after {READY_S:.0f} s. {self._last_words()}"
                )
            await asyncio.sleep(POLL_S)

    async def keep(self) -> None:
        """Start it again whenever it ends. What works of the deployment goes on meanwhile, workspaces and jobs above all:
        a part that cannot be kept alive is tried again without end.
        """
        while True:
            assert self._process is not None
            code = await self._process.wait()
            if self._ending:
                return
            now = time.monotonic()
            self._ends.append(now)
            if len(self._ends) == MANY and now - self._ends[0] < WITHIN_S:
                self._say(f"{self.part.name} ends again and again (exit {code}). {self._last_words()}")
                await asyncio.sleep(PAUSE_S)
            self._say(f"{self.part.name} ended (exit {code}); it is started again")
            await self.start()

    async def end(self) -> None:
        """TERM, wait, KILL; an ended part is no error."""
        self._ending = True
        process = self._process
        if process is not None and process.returncode is None:
            await _end(process)
        records.forget(self._home, self.part.name)

    def _last_words(self) -> str:
        with suppress(OSError):
            lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
            if lines:
                return f"It said: {lines[-1].strip()[:300]} (all of it in {self.log})"
        return f"See {self.log}."


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), POLITE_S)
            return
        process.kill()
        await process.wait()


def _rotate(log: Path) -> None:
    with suppress(FileNotFoundError):
        if log.stat().st_size > LOG_LIMIT:
            log.replace(log.with_suffix(".log.1"))
