"""What this server is busy with, as control asks it every few seconds; what is not known is null.

It says when a kernel last did something and when a person last touched a page: so control, when it was away itself,
misses neither.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psutil

from gearshift.lab.answering import Answering, signed_in
from gearshift.lab.control_door import ControlDoor
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.metrics import Sampler
from gearshift.model.units import to_iso


class ActivityReader:
    """Use of the processor is measured between one question of control and the next."""

    def __init__(self, server: Any, environment: LabEnvironment) -> None:
        self._server = server
        self._sampler = Sampler(environment)
        self._used_at: datetime | None = None

    def used(self) -> None:
        """A key or a click in a page."""
        self._used_at = datetime.now(UTC)

    def read(self) -> dict[str, Any]:
        """A `gearshift.model.idle.Activity`."""
        sample = self._sampler.read()
        kernels = self._kernels()
        last = max((one["last_activity"] for one in kernels if one["last_activity"]), default=None)
        return {
            "at": sample["at"],
            "busy_kernels": sum(one["execution_state"] == "busy" for one in kernels),
            "terminals": len(self._busy_terminals()),
            "pages": sum(one["connections"] or 0 for one in kernels),
            "cpu_share": _share(sample["cpu_percent"]),
            "cpus": sample["cpus"],
            "chip_share": _share(max(_known_percents(sample["gpus"]), default=None)),
            "executed_at": last,
            "used_at": to_iso(self._used_at) if self._used_at else None,
        }

    def _kernels(self) -> list[dict[str, Any]]:
        manager = self._server.kernel_manager
        return [manager.kernel_model(one) for one in manager.list_kernel_ids()]

    def _busy_terminals(self) -> list[int]:
        """Shells that have something running in them."""
        manager = self._server.web_app.settings.get("terminal_manager")
        found = getattr(manager, "terminals", {}).values()
        return [one.ptyproc.pid for one in found if _has_children(one.ptyproc.pid)]


class ActivityHandler(ControlDoor):
    """GET: what it is busy with."""

    def initialize(self, reader: ActivityReader) -> None:
        self.reader = reader

    @signed_in
    async def get(self) -> None:
        await self.finish(self.reader.read())


class UsedHandler(Answering):
    """POST: a person has just touched a page."""

    def initialize(self, reader: ActivityReader) -> None:
        self.reader = reader

    @signed_in
    async def post(self) -> None:
        self.reader.used()
        await self.finish({})


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _known_percents(chips: list[dict[str, Any]] | None) -> list[float]:
    return [chip["percent"] for chip in chips or () if chip["percent"] is not None]


def _has_children(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).children())
    except psutil.Error:
        return False
