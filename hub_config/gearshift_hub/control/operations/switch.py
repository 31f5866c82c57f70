"""The switch: reserve, save, stop, start, restore, verify, release. Until *verify* has passed, every failure goes back.

Going back undoes what was begun, last first: the new server is ended, the old one thawed (or started again, and what
was saved restored), the reservation given up. The old price holds until *verify*; one instant then changes it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.kept_state import StateKind
from gearshift.model.operation import OperationState, StepState
from gearshift.model.units import from_iso, to_iso
from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import exchange, going_back
from gearshift_hub.control.operations.exchange import new_spec
from gearshift_hub.control.operations.settling import close, free, row_of, seen_last, settle
from gearshift_hub.control.operations.stale_hold import past_stale_hold
from gearshift_hub.control.operations.start import HUB_CLEANS_UP_S, where, with_machine
from gearshift_hub.control.operations.switched_server import (
    check_restored,
    kernels_s,
    name_of,
    plan_launch,
    restore_into,
    start_server,
    state_s,
)
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import leases, states, workspaces
from gearshift_hub.control.steps import Flow, Run, StepWork

STAY_S = 5.0


def flow(ctx: Context) -> Flow:
    """The steps of a switch, on this control."""
    switch, deadlines = _Switch(ctx), ctx.deployment.deadlines
    start_s = deadlines.start + HUB_CLEANS_UP_S
    stop_s = deadlines.term + HUB_CLEANS_UP_S

    def save_s(run: Run) -> float:
        return state_s(ctx, run)

    def stop_or_back_s(run: Run) -> float:
        return stop_s if run.op.direction == "forward" else going_back.STARTS * start_s + save_s(run)

    return Flow(
        steps={
            "reserve": StepWork(switch.reserve, undo=switch.give_up, seconds=lambda _run: stop_s),
            "save": StepWork(switch.save, undo=switch.stay, seconds=save_s),
            "stop": StepWork(switch.stop, undo=switch.back_on_old, seconds=stop_or_back_s),
            "start": StepWork(switch.start, undo=switch.end_new, seconds=lambda _run: start_s),
            "restore": StepWork(switch.restore, seconds=save_s),
            "verify": StepWork(switch.verify, seconds=lambda _run: deadlines.verify),
            "release": StepWork(switch.release, seconds=lambda _run: stop_s),
        },
        begin=switch.begin,
        end=switch.end,
        late=switch.late,
        instant=frozenset({"reserve"}),
    )


class _Switch:
    """Parameters: `spec` (the new one), `freeze`, `busy`, `leave_out`, `rerun`, `predicted_seconds`, `max_cost_nano`.

    Data: `old`, `grant`, `price` (exchange), `stopped` ("frozen" or "stopped"), `stopped_at`, `launch`, `launch_back`,
    `server` (the new one), `back` (the old one again), `verified_at`.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def begin(self, run: Run, session: Session) -> None:
        row = row_of(session, run)
        workspaces.move(self._ctx, session, row, WorkspaceState.SWITCHING, operation=run.id)

    async def reserve(self, run: Run) -> dict[str, Any] | None:
        return exchange.reserve(self._ctx, run, keep_memory=bool(run.params.get("freeze")))

    async def give_up(self, run: Run) -> None:
        """If the old machine could not come back either, nothing of the two is left in the hub."""
        if _is_lost(run):
            await self._ctx.hub.stop(run.owner, name_of(run), run.id)
            await self._ctx.hub.release(run.owner, name_of(run), run.id, "new")
        exchange.give_up(self._ctx, run)

    async def save(self, run: Run) -> dict[str, Any]:
        """Kernels' variables, while everything still runs; if that fails, nothing was stopped. Where the old machine is
        only frozen, nobody waits for the disk: a power cut takes what is in memory, as at any other time."""
        port = run.data["old"]["server"]["port"]
        if port is None:
            raise fail("save_failed", cause="the server is gone")
        params = run.params
        try:
            report = await self._ctx.servers.save(
                run.owner,
                name_of(run),
                port,
                run.id,
                busy=str(params.get("busy", "wait")),
                leave_out=params.get("leave_out", []),
                rerun=params.get("rerun", {}),
                leaving=True,
                durable=not params.get("freeze") or bool(params.get("snapshot")),
                seconds=kernels_s(state_s(self._ctx, run)),
            )
        except ServerGoneError as error:
            raise fail("save_failed", cause="the server did not answer") from error
        if params.get("snapshot"):
            self._keep(run, report)
        return {"result": {"saved": report}}

    async def stay(self, run: Run) -> None:
        """The old server opens its documents again; one that is gone has none, and opens them when it starts."""
        port = run.data["old"]["server"]["port"]
        if port is not None:
            with suppress(ServerGoneError, GearshiftError, DeadlineError):
                stayed = self._ctx.servers.stay(run.owner, name_of(run), port)
                await within(self._ctx.clock, STAY_S, stayed)

    def _keep(self, run: Run, report: dict[str, Any]) -> None:
        """The snapshot that was asked for. One that has no room is refused, and nothing was stopped."""
        with self._ctx.db.transaction() as session:
            states.keep(
                self._ctx,
                session,
                owner=run.owner,
                name=name_of(run),
                operation=run.id,
                kind=StateKind.SWITCH,
                report=report,
            )

    async def stop(self, run: Run) -> dict[str, Any]:
        """Hold the hub's own doors, then freeze or end the old tree."""
        hub, name = self._ctx.hub, name_of(run)
        await past_stale_hold(self._ctx, run.owner, name, lambda: hub.hold(run.owner, name, run.id))
        freeze = bool(run.params.get("freeze"))
        how = await hub.stop(run.owner, name, run.id, freeze=freeze, resume=True)
        with self._ctx.db.transaction() as session:
            run.record(session, stopped=how, stopped_at=to_iso(self._ctx.clock.now()))
        return {"stopped": how}

    async def back_on_old(self, run: Run) -> dict[str, Any]:
        return await going_back.back_on_old(self._ctx, run)

    async def start(self, run: Run) -> dict[str, Any]:
        ctx = self._ctx
        if "launch" not in run.data:
            plan_launch(ctx, run, run.params["spec"], run.data["grant"]["device_ids"], "launch")
        try:
            state = await start_server(ctx, run, "launch")
        except GearshiftError as error:
            raise with_machine(error, new_spec(run).machine) from error
        with ctx.db.transaction() as session:
            run.record(session, server=where(state))
        return {"url": state.url}

    async def end_new(self, run: Run) -> None:
        """End the new server only: a frozen old tree and its token stay."""
        await self._ctx.hub.stop(run.owner, name_of(run), run.id, resume=True)

    async def restore(self, run: Run) -> dict[str, Any]:
        """All that was saved, or back: a kernel that came back empty is lost when the old machine goes."""
        try:
            report = await restore_into(self._ctx, run, run.data["server"]["port"])
        except ServerGoneError as error:
            cause = "the server did not answer"
            raise fail("restore_failed", machine=new_spec(run).machine, cause=cause) from error
        check_restored(run, report)
        return {"result": {"restored": report}}

    async def verify(self, run: Run) -> dict[str, Any]:
        """The new server answers for itself; from that instant on its price holds."""
        if "verified_at" not in run.data:
            await check_health(self._ctx, run, run.data["server"]["port"])
            exchange.change_over(self._ctx, run, run.data["server"])
        return {"verified_at": run.data["verified_at"]}

    async def release(self, run: Run) -> None:
        """The old tree goes, then what it held."""
        await self._ctx.hub.release(run.owner, name_of(run), run.id, "new")
        with self._ctx.db.transaction() as session:
            exchange.one_lease(self._ctx, session, run)

    def end(self, run: Run, session: Session) -> None:
        if run.op.state is OperationState.DONE:
            exchange.one_lease(self._ctx, session, run)
            settle(self._ctx, session, run, WorkspaceState.READY)
            return
        leases.give_back(self._ctx, session, operation=run.id)
        if _is_lost(run):
            self._lost(run, session)
        else:
            settle(self._ctx, session, run, WorkspaceState.READY, "not_switched")

    def _lost(self, run: Run, session: Session) -> None:
        """Not even the old machine came back: stopped, charged up to where it ran, with its state saved."""
        last = seen_last(self._ctx, row_of(session, run))
        at = from_iso(run.data["stopped_at"]) if "stopped_at" in run.data else last
        close(self._ctx, session, run, at)
        free(self._ctx, session, run)
        code = str((run.op.error or {}).get("code", "start_failed"))
        settle(self._ctx, session, run, WorkspaceState.FAILED, code)

    def late(self, run: Run, step: str, seconds: float) -> GearshiftError:
        if step == "start" and run.op.direction == "forward":
            limit = self._ctx.deployment.deadlines.start
            return fail("start_timeout", machine=new_spec(run).machine, seconds=f"{limit:g}")
        if step == "save":
            return fail("save_failed", cause=f"it took over {seconds:g} s")
        return fail("step_timeout", step=step, seconds=f"{seconds:g}")


async def check_health(ctx: Context, run: Run, port: int) -> None:
    """The server says of itself that it is well."""
    try:
        health = await ctx.servers.health(run.owner, name_of(run), port)
    except ServerGoneError as error:
        raise fail("step_failed", step="verify", cause="the server did not answer") from error
    if not health.get("ok"):
        raise fail("step_failed", step="verify", cause=str(health.get("why") or "the check failed"))


def _is_lost(run: Run) -> bool:
    """Going back to the old machine was tried and failed: it was never seen there again."""
    return run.op.step_named("stop").state is StepState.STUCK and "back" not in run.data
