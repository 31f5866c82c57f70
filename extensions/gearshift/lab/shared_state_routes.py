"""The routes of kept states on shared disks: list and copy for the person, look at and bring in for control alone."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

from gearshift.lab import shared_states
from gearshift.lab.answering import Answering, signed_in
from gearshift.lab.control_door import ControlDoor
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.shared_states import Consent
from gearshift.model.errors import fail
from gearshift.model.units import from_iso


class SharedStatesHandler(Answering):
    """GET: those on the disks that are attached. POST {state, disk}: copy a kept one there; nothing is loaded."""

    def initialize(self, environment: LabEnvironment) -> None:
        self.environment = environment

    @signed_in
    async def get(self) -> None:
        found = await asyncio.to_thread(shared_states.on_disks, self.environment, Path.home())
        await self.finish({"states": found})

    @signed_in
    async def post(self) -> None:
        body = self.body()
        state, disk = _text(body, "state"), _text(body, "disk")
        copied = await asyncio.to_thread(shared_states.copy_out, self.environment, Path.home(), state, disk)
        await self.finish(copied)


class LookAtHandler(ControlDoor):
    """POST {disk, state}: what lies there now, for the person to agree to."""

    def initialize(self, environment: LabEnvironment) -> None:
        self.environment = environment

    @signed_in
    async def post(self) -> None:
        body = self.body()
        disk, state = _text(body, "disk"), _text(body, "state")
        seen = await asyncio.to_thread(shared_states.look_at, self.environment, Path.home(), disk, state)
        await self.finish(seen.shown())


class BringInHandler(ControlDoor):
    """POST {operation, disk, state, consent}: only control can say that a person pressed. Asked twice it is one."""

    def initialize(
        self, environment: LabEnvironment, running: dict[str, asyncio.Task[dict[str, Any]]]
    ) -> None:
        self.environment, self.running = environment, running

    @signed_in
    async def post(self) -> None:
        if not self.by_control:
            raise fail("needs_press", field="consent")
        body = self.body()
        operation = _text(body, "operation")
        if operation not in self.running:
            work = asyncio.to_thread(
                shared_states.bring_in,
                self.environment,
                Path.home(),
                operation,
                _text(body, "disk"),
                _text(body, "state"),
                _consent(body.get("consent")),
            )
            self.running[operation] = task = asyncio.create_task(work)
            task.add_done_callback(lambda _done: self.running.pop(operation, None))
        await self.finish(await asyncio.shield(self.running[operation]))


def _text(body: dict[str, Any], field: str) -> str:
    value = body.get(field)
    if not isinstance(value, str):
        raise fail("bad_request", field=field, value=value, allowed=["a name"])
    return value


def _consent(given: object) -> Consent:
    try:
        assert isinstance(given, dict)
        expires_at: datetime = from_iso(str(given["expires_at"]))
        return Consent(str(given["user"]), str(given["digest"]), expires_at)
    except (AssertionError, KeyError, ValueError) as error:
        raise fail("needs_press", field="consent") from error
