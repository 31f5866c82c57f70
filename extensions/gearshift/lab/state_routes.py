"""The routes of kernel state and of health: parse, check, one call."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from gearshift.lab import manifest
from gearshift.lab.answering import signed_in
from gearshift.lab.control_door import ControlDoor
from gearshift.lab.documents.setup import Documents
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.in_flight import InFlight
from gearshift.lab.restoring import LOAD_S, Restorer
from gearshift.lab.saving import SAVE_S, Names, Saver, SaveRequest
from gearshift.model.errors import fail

BUSY = ("wait", "interrupt", "leave")
LONGEST_S = 24 * 3600.0


class PlanHandler(ControlDoor):
    """POST {probe}: what would become of each variable of each kernel, and what is in use."""

    def initialize(self, saver: Saver) -> None:
        self.saver = saver

    @signed_in
    async def post(self) -> None:
        await self.finish(await self.saver.plan(probe=_flag(self.body(), "probe")))


ANSWERED_WITHIN_S = 2.0


class SaveHandler(ControlDoor):
    """POST {operation, busy, leave_out, rerun, partly, durable, leaving, seconds}. Whoever went away is not waited for."""

    _saving: asyncio.Task[dict[str, Any]] | None = None

    def initialize(self, saver: Saver, in_flight: InFlight, documents: Documents) -> None:
        self.saver = saver
        self.in_flight = in_flight
        self.documents = documents

    @signed_in
    async def post(self) -> None:
        await self.in_flight.drained(ANSWERED_WITHIN_S)
        body = self.body()
        self._saving = asyncio.create_task(self._save(save_request(body), _flag(body, "leaving")))
        try:
            report = await self._saving
        except asyncio.CancelledError:
            return
        await self.finish(report)

    async def _save(self, request: SaveRequest, leaving: bool) -> dict[str, Any]:
        async with self.documents.held(leaving):
            return await self.saver.save(request)

    def on_connection_close(self) -> None:
        if self._saving is not None:
            self._saving.cancel()


class RestoreHandler(ControlDoor):
    """POST {operation, state, check, seconds}; `state` is the operation that saved it, this one if not said."""

    def initialize(self, restorer: Restorer) -> None:
        self.restorer = restorer

    @signed_in
    async def post(self) -> None:
        body = self.body()
        report = await self.restorer.restore(
            _operation(body),
            _seconds(body, LOAD_S),
            state=_operation(body, "state") if "state" in body else None,
            check=_flag(body, "check"),
        )
        await self.finish(report)


class ReportHandler(ControlDoor):
    """GET ?operation=: what was saved and restored under it."""

    def initialize(self, environment: LabEnvironment) -> None:
        self.environment = environment

    @signed_in
    async def get(self) -> None:
        operation = self.get_query_argument("operation", "")
        folder = manifest.folder_of(self.environment.state_dir, operation)
        found = {name: _read(folder / f"{name}.json") for name in ("save", "restore")}
        if found["save"] is None:
            raise fail("not_found", field="operation", value=operation)
        await self.finish({"operation": operation, "saved": found["save"], "restored": found["restore"]})


class HealthHandler(ControlDoor):
    """GET: the server answers, its kernels, and what it restored."""

    def initialize(self, server: Any, restorer: Restorer) -> None:
        self.server, self.restorer = server, restorer

    @signed_in
    async def get(self) -> None:
        kernels = [
            {
                "kernel_id": one,
                "state": getattr(self.server.kernel_manager.get_kernel(one), "execution_state", None),
            }
            for one in self.server.kernel_manager.list_kernel_ids()
        ]
        await self.finish({"ok": True, "kernels": kernels, "restored_operation": self.restorer.done})


def save_request(body: dict[str, Any]) -> SaveRequest:
    """Refused whole with the field, its value and what is allowed."""
    busy = body.get("busy", "wait")
    if busy not in BUSY:
        raise fail("bad_request", field="busy", value=busy, allowed=list(BUSY))
    return SaveRequest(
        _operation(body),
        busy,
        _names(body, "leave_out"),
        _seconds(body, SAVE_S),
        _flag(body, "partly"),
        _names(body, "rerun"),
        _flag(body, "durable", default=True),
    )


def _names(body: dict[str, Any], field: str) -> Names:
    """For all kernels, or by a kernel's id."""
    given = body.get(field, [])
    if isinstance(given, dict) and all(_are_names(names) for names in given.values()):
        return {kernel: tuple(names) for kernel, names in given.items()}
    if not _are_names(given):
        raise fail("bad_request", field=field, value=given, allowed=["a list of names"])
    return tuple(given)


def _are_names(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(name, str) for name in found)


def _operation(body: dict[str, Any], field: str = "operation") -> str:
    operation = body.get(field)
    if not isinstance(operation, str):
        raise fail("bad_request", field=field, value=operation, allowed=["an operation's id"])
    return operation


def _flag(body: dict[str, Any], field: str, *, default: bool = False) -> bool:
    flag = body.get(field, default)
    if not isinstance(flag, bool):
        raise fail("bad_request", field=field, value=flag, allowed=["true", "false"])
    return flag


def _seconds(body: dict[str, Any], default: float) -> float:
    seconds = body.get("seconds", default)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= LONGEST_S:
        raise fail(
            "bad_request", field="seconds", value=seconds, allowed=[f"more than 0, up to {LONGEST_S:g}"]
        )
    return float(seconds)


def _read(path: Any) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return None
