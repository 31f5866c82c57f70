"""Holds requests for kernels and sessions until they are restored: a page that asks too early would drop its session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.services.kernels.handlers import default_handlers as kernel_routes
from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
from jupyter_server.services.sessions.handlers import default_handlers as session_routes
from jupyter_server.utils import url_path_join


class Gate:
    """Open unless somebody holds it closed."""

    def __init__(self) -> None:
        self._holders = 0
        self._opened: asyncio.Event | None = None

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Closed for the length of the block."""
        self.hold()
        try:
            yield
        finally:
            self.release()

    def hold(self) -> None:
        self._holders += 1

    def release(self) -> None:
        self._holders -= 1
        if not self._holders and self._opened is not None:
            self._opened.set()
            self._opened = None

    async def passed(self) -> None:
        """Returns when it is open; the event is made in the loop that waits for it."""
        while self._holders:
            if self._opened is None:
                self._opened = asyncio.Event()
            await self._opened.wait()


class _Held:
    """Comes before one of jupyter_server's own handlers: the caller is known first, then waits."""

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        await ensure_async(super().prepare(*args, **kwargs))  # type: ignore[misc]
        if not self._finished:  # type: ignore[attr-defined]
            await self.settings["gearshift_gate"].passed()  # type: ignore[attr-defined]


class _HeldSocket(_Held, KernelWebsocketHandler):  # type: ignore[misc]
    """Also without Nagle's delay, which costs 40 ms for each execution (facts-hub 1.4)."""

    async def open(self, kernel_id: str) -> None:
        self.set_nodelay(True)
        await super().open(kernel_id)


def held_routes(base_url: str) -> list[tuple[str, type]]:
    """The routes of kernels and sessions again, to be placed before the server's own."""
    found = []
    for pattern, handler in (*kernel_routes, *session_routes):
        held = (
            _HeldSocket
            if handler is KernelWebsocketHandler
            else type(f"Held{handler.__name__}", (_Held, handler), {})
        )
        found.append((url_path_join(base_url, pattern), held))
    return found
