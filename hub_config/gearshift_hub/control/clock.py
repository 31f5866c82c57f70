"""What time it is, and waiting: an argument everywhere, so that tests own it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """Wall time in UTC, a steady counter for durations, and a wait."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class DeadlineError(Exception):
    """The time a step may take is over."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not done within {seconds:g} s")
        self.seconds = seconds


async def within(clock: Clock, seconds: float, work: Awaitable[T]) -> T:
    """The result of `work`, or DeadlineError once `seconds` of `clock` have passed; the work is cancelled then."""
    task = asyncio.ensure_future(work)
    bell = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({task, bell}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise DeadlineError(seconds)
    finally:
        bell.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=5)
