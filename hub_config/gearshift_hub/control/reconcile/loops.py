"""Background work: each loop is one function called again and again; a fault in one is logged and does not end it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gearshift_hub.control.context import Context
from gearshift_hub.control.hub import HubDownError

log = logging.getLogger("gearshift.reconcile")


@dataclass(frozen=True)
class Every:
    """Work and the pause after it."""

    name: str
    seconds: float
    work: Callable[[], Awaitable[None]]


class Loops:
    """All that runs beside requests and operations."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, own: list[Every]) -> None:
        """Our own work, and the loops that other parts brought."""
        for every in own:
            self._tasks.append(asyncio.ensure_future(self._repeat(every)))
        for name, run in self._ctx.hooks.loops.items():
            self._tasks.append(asyncio.ensure_future(self._keep(name, run)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _repeat(self, every: Every) -> None:
        while True:
            try:
                await every.work()
            except HubDownError:
                log.info("%s: the hub does not answer", every.name)
            except Exception:
                log.exception("%s", every.name)
            await self._ctx.clock.sleep(every.seconds)

    async def _keep(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """A loop that another part brought; should it fall over, it is set up again."""
        while True:
            try:
                await run()
                return
            except Exception:
                log.exception("%s", name)
            await self._ctx.clock.sleep(5.0)
