"""The live form of a switch: the running tree gets other limits, nothing stops; reserve, resize, verify, release."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.machine import Machine
from gearshift.model.operation import OperationState
from gearshift.model.units import format_bytes
from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.backends.base import MemoryInUseError
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import exchange
from gearshift_hub.control.operations.settling import row_of, settle
from gearshift_hub.control.operations.switch import check_health
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import leases, workspaces
from gearshift_hub.control.services.launches import limits_of
from gearshift_hub.control.steps import Flow, Run, StepWork


async def check_room(ctx: Context, tree: str | None, machine: Machine) -> None:
    """Refused, with the figure, when more is in use now than the machine has; what nobody knows is not refused."""
    if tree is not None:
        in_use = await asyncio.to_thread(ctx.backend.box.memory_in_use, tree)
        if in_use is not None and in_use > machine.memory_bytes:
            raise too_small(machine, in_use)


def too_small(machine: Machine, in_use_bytes: int | None) -> GearshiftError:
    return fail(
        "memory_in_use",
        field="machine",
        value=machine.id,
        machine=machine.title.en,
        machine_zh=machine.title.zh,
        in_use=None if in_use_bytes is None else format_bytes(in_use_bytes),
        in_use_bytes=in_use_bytes,
        limit=format_bytes(machine.memory_bytes),
        limit_bytes=machine.memory_bytes,
    )


def flow(ctx: Context) -> Flow:
    """The steps of a resize, on this control."""
    resize = _Resize(ctx)
    return Flow(
        steps={
            "reserve": StepWork(resize.reserve, undo=resize.give_up),
            "resize": StepWork(resize.resize, undo=resize.back),
            "verify": StepWork(resize.verify, seconds=lambda _run: ctx.deployment.deadlines.verify),
            "release": StepWork(resize.release),
        },
        begin=resize.begin,
        end=resize.end,
        instant=frozenset({"reserve"}),
    )


class _Resize:
    """Parameters and data are those of a switch, without a second server."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def begin(self, run: Run, session: Session) -> None:
        row = row_of(session, run)
        workspaces.move(self._ctx, session, row, WorkspaceState.SWITCHING, operation=run.id)

    async def reserve(self, run: Run) -> dict[str, Any] | None:
        return exchange.reserve(self._ctx, run, keep_memory=False)

    async def give_up(self, run: Run) -> None:
        exchange.give_up(self._ctx, run)

    async def resize(self, run: Run) -> dict[str, Any]:
        """The box first, which alone can refuse; then the server, whose kernels follow."""
        machine = exchange.new_machine(self._ctx, run)
        await self._limit(run, machine)
        try:
            return await self._tell(run, machine)
        except ServerGoneError as error:
            raise fail("step_failed", step="resize", cause="the server did not answer") from error

    async def back(self, run: Run) -> None:
        old = self._ctx.deployment.machine(run.data["old"]["spec"]["machine"])
        if old is not None:
            await self._limit(run, old)
            with suppress(ServerGoneError):  # it knows of no other machine, or is gone for good
                await self._tell(run, old)

    async def _limit(self, run: Run, machine: Machine) -> None:
        tree = run.data["old"]["server"]["tree"]
        try:
            await asyncio.to_thread(self._ctx.backend.box.resize, tree, limits_of(machine))
        except MemoryInUseError as error:
            raise too_small(machine, error.in_use_bytes) from error
        except OSError as error:
            raise fail("cannot_switch", cause=error.strerror or str(error)) from error

    async def _tell(self, run: Run, machine: Machine) -> dict[str, Any]:
        assert run.name is not None
        port = run.data["old"]["server"]["port"]
        said = await self._ctx.servers.resize(run.owner, run.name, port, machine)
        return {"followed": said.get("followed")}

    async def verify(self, run: Run) -> dict[str, Any]:
        server = run.data["old"]["server"]
        if "verified_at" not in run.data:
            await check_health(self._ctx, run, server["port"])
            exchange.change_over(self._ctx, run, server, lease=True)
        return {"verified_at": run.data["verified_at"]}

    async def release(self, run: Run) -> None:
        with self._ctx.db.transaction() as session:
            exchange.one_lease(self._ctx, session, run)

    def end(self, run: Run, session: Session) -> None:
        if run.op.state is OperationState.DONE:
            exchange.one_lease(self._ctx, session, run)
            settle(self._ctx, session, run, WorkspaceState.READY)
            return
        leases.give_back(self._ctx, session, operation=run.id)
        settle(self._ctx, session, run, WorkspaceState.READY, "not_switched")
