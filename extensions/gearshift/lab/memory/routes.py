"""The routes of the memory guard: what happened, what was read of it, and whether to interrupt before the limit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gearshift.lab.answering import Answering, signed_in
from gearshift.lab.memory.guard import MemoryGuard
from gearshift.lab.metrics import Sampler
from gearshift.model.errors import fail


class _Guarded(Answering):
    def initialize(self, guard: MemoryGuard) -> None:
        self.guard = guard

    def told(self) -> dict[str, Any]:
        used, limit = self.guard.usage()
        held = self.guard.incidents
        return {
            "use_bytes": used,
            "limit_bytes": limit,
            "interrupt": held.interrupt,
            "kernels": self.guard.resident(),
            "incidents": [asdict(one) for one in held.all],
        }


class MetricsHandler(_Guarded):
    """GET: one sample, and the newest event of memory: a page that sees another one asks for it."""

    def initialize(self, sampler: Sampler, guard: MemoryGuard) -> None:  # type: ignore[override]
        super().initialize(guard)
        self.sampler = sampler

    @signed_in
    async def get(self) -> None:
        await self.finish({**self.sampler.read(), "incident": self.guard.incidents.newest})


class MemoryHandler(_Guarded):
    """GET: use, limit, and the events that are kept. PUT {interrupt}: whether a cell is interrupted before the limit."""

    @signed_in
    async def get(self) -> None:
        await self.finish(self.told())

    @signed_in
    async def put(self) -> None:
        interrupt = self.body().get("interrupt")
        if not isinstance(interrupt, bool):
            raise fail("bad_request", field="interrupt", value=interrupt, allowed=[True, False])
        self.guard.incidents.choose(interrupt)
        await self.finish(self.told())


class SeenHandler(_Guarded):
    """POST {ids}: the person has read these events; no page shows them again."""

    @signed_in
    async def post(self) -> None:
        ids = self.body().get("ids")
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise fail("bad_request", field="ids", value=ids, allowed=["a list of ids"])
        self.guard.incidents.seen(ids)
        await self.finish(self.told())
