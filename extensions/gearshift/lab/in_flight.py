"""Knows which posts of pages are still being answered: a switch they begin must not stop this server before that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class InFlight:
    """Counts answers under way; `drained` waits until there is none."""

    def __init__(self) -> None:
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """From the request until its answer is with the operating system."""
        self._count += 1
        self._none.clear()
        try:
            yield
        finally:
            self._count -= 1
            if self._count == 0:
                self._none.set()

    async def drained(self, within_s: float) -> None:
        """Return when nothing is being answered, or after `within_s` seconds: a save does not wait for ever."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._none.wait(), within_s)
