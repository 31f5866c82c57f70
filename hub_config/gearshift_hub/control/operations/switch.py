"""The switch: reserve, save, stop, start, restore, verify, release. Until *verify* has passed, every failure goes back.

Going back undoes what was begun, last first: the new server is ended, the old one thawed (or started again, and what
was saved restored), the reservation given up. The old price holds until *verify*; one instant then changes it.
"""

from __future__ import annotations

from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.launch import LaunchPlan
from gearshift.model.operation import OperationState, StepState
from gearshift.model.units import from_iso, to_iso
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.hub import ServerState
from gearshift_hub.control.operations import exchange
from gearshift_hub.control.operations.exchange import new_spec
from gearshift_hub.control.operations.settling import close, free, row_of, seen_last, settle
from gearshift_hub.control.operations.start import HUB_CLEANS_UP_S, where, with_machine
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import launches, leases, workspaces
from gearshift_hub.control.steps import Flow, Run, StepWork

QUIET_S = 0.1


def flow(ctx: Context) -> Flow:
    """The steps of a switch, on this control."""
    switch, deadlines = _Switch(ctx), ctx.deployment.deadlines
    start_s = deadlines.start + HUB_CLEANS_UP_S
    stop_s = deadlines.term + HUB_CLEANS_UP_S

    def save_s(run: Run) -> float:
        return deadlines.save(exchange.predicted_s(run))

    def stop_or_back_s(run: Run) -> float:
        return stop_s if run.op.direction == "forward" else start_s + save_s(run)

    return Flow(
        steps={
            "reserve": StepWork(switch.reserve, undo=switch.give_up, seconds=lambda _run: stop_s),
            "save": StepWork(switch.save, seconds=save_s),
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
    """Parameters: `spec` (the new one), `freeze`, `busy`, `leave_out`, `predicted_seconds`, `max_cost_nano`.

    Data: `old`, `grant`, `price` (exchange), `stopped` ("frozen" or "stopped"), `stopped_at`, `launch`, `launch_back`,
    `server` (the new one), `verified_at`.
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
            await self._ctx.hub.stop(run.owner, _name(run), run.id)
            await self._ctx.hub.release(run.owner, _name(run), run.id, "new")
        exchange.give_up(self._ctx, run)

    async def save(self, run: Run) -> dict[str, Any]:
        """Kernels' variables, while everything still runs; if that fails, nothing was stopped."""
        port = run.data["old"]["server"]["port"]
        if port is None:
            raise fail("save_failed", cause="the server is gone")
        busy, leave_out = str(run.params.get("busy", "wait")), list(run.params.get("leave_out", ()))
        try:
            report = await self._ctx.servers.save(
                run.owner, _name(run), port, run.id, busy=busy, leave_out=leave_out
            )
        except ServerGoneError as error:
            raise fail("save_failed", cause="the server did not answer") from error
        return {"result": {"saved": report}}

    async def stop(self, run: Run) -> dict[str, Any]:
        """Hold the hub's own doors, then freeze or end the old tree."""
        hub, name = self._ctx.hub, _name(run)
        await hub.hold(run.owner, name, run.id)
        freeze = bool(run.params.get("freeze"))
        how = await hub.stop(run.owner, name, run.id, freeze=freeze, resume=True)
        with self._ctx.db.transaction() as session:
            run.record(session, stopped=how, stopped_at=to_iso(self._ctx.clock.now()))
        return {"stopped": how}

    async def back_on_old(self, run: Run) -> dict[str, Any]:
        """The old machine again: untouched, thawed as it was, or started and given what was saved."""
        hub, name, old_tree = self._ctx.hub, _name(run), run.data["old"]["server"]["tree"]
        now = await self._quiet(run)
        if now.ready and not now.frozen and now.tree == old_tree:
            how = "untouched"
        elif now.frozen:
            how = "thawed"
            now = await hub.start(run.owner, name, run.id, thaw=True)
        else:
            how = "started again"
            now = await self._start_old(run, now)
        report = await self._restore_into(run, now.port) if how == "started again" else {}
        await hub.release(run.owner, name, run.id, "old")
        with self._ctx.db.transaction() as session:
            row = row_of(session, run)
            workspaces.observed(row, where(now))
            row.seen_at = self._ctx.clock.now()
        return {"back": how, "result": {"back": {"how": how, "restored": report}}}

    async def _quiet(self, run: Run) -> ServerState:
        """The hub's view once nothing is pending: a stop that we let go of may still be under way."""
        while True:
            state = await self._ctx.hub.state(run.owner, _name(run))
            if state.pending is None:
                return state
            await self._ctx.clock.sleep(QUIET_S)

    async def _start_old(self, run: Run, now: ServerState) -> ServerState:
        if "launch_back" not in run.data:
            self._plan(run, run.data["old"], "launch_back")
        tree = run.data["launch_back"]["tree"]
        state = now if now.ready and now.tree == tree else await self._start_server(run, "launch_back")
        if state.tree != tree:
            raise fail("step_failed", step="stop", cause="another server is running in its place")
        return state

    async def start(self, run: Run) -> dict[str, Any]:
        if "launch" not in run.data:
            wanted = {"spec": run.params["spec"], "devices": run.data["grant"]["device_ids"]}
            self._plan(run, wanted, "launch")
        try:
            state = await self._start_server(run, "launch")
        except GearshiftError as error:
            raise with_machine(error, new_spec(run).machine) from error
        with self._ctx.db.transaction() as session:
            run.record(session, server=where(state))
        return {"url": state.url}

    async def _start_server(self, run: Run, key: str) -> ServerState:
        plan = LaunchPlan(**run.data[key])
        for prepare in self._ctx.hooks.before_launch:
            await prepare(run.owner, _name(run), plan.person)
        return await self._ctx.hub.start(run.owner, _name(run), run.id)

    def _plan(self, run: Run, wanted: dict[str, Any], key: str) -> None:
        with self._ctx.db.transaction() as session:
            plan = launches.build(
                self._ctx,
                session,
                owner=run.owner,
                name=_name(run),
                operation=run.id,
                spec=WorkspaceSpec.read(wanted["spec"]),
                device_ids=tuple(wanted["devices"]),
                restore=True,
            )
            run.record(session, **{key: plan.model_dump(mode="json")})

    async def end_new(self, run: Run) -> None:
        """End the new server only: a frozen old tree and its token stay."""
        await self._ctx.hub.stop(run.owner, _name(run), run.id, resume=True)

    async def restore(self, run: Run) -> dict[str, Any]:
        report = await self._restore_into(run, run.data["server"]["port"])
        return {"result": {"restored": report}}

    async def _restore_into(self, run: Run, port: int | None) -> dict[str, Any]:
        machine = new_spec(run).machine
        if port is None:
            raise fail("restore_failed", machine=machine, cause="the hub named no port")
        try:
            return await self._ctx.servers.restore(run.owner, _name(run), port, run.id)
        except ServerGoneError as error:
            raise fail("restore_failed", machine=machine, cause="the server did not answer") from error

    async def verify(self, run: Run) -> dict[str, Any]:
        """The new server answers for itself; from that instant on its price holds."""
        if "verified_at" not in run.data:
            await check_health(self._ctx, run, run.data["server"]["port"])
            exchange.change_over(self._ctx, run, run.data["server"])
        return {"verified_at": run.data["verified_at"]}

    async def release(self, run: Run) -> None:
        """The old tree goes, then what it held."""
        await self._ctx.hub.release(run.owner, _name(run), run.id, "new")
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
        health = await ctx.servers.health(run.owner, _name(run), port)
    except ServerGoneError as error:
        raise fail("step_failed", step="verify", cause="the server did not answer") from error
    if not health.get("ok"):
        raise fail("step_failed", step="verify", cause=str(health.get("why") or "the check failed"))


def _is_lost(run: Run) -> bool:
    """Going back to the old machine was tried and failed."""
    return run.op.step_named("stop").state is StepState.STUCK


def _name(run: Run) -> str:
    assert run.name is not None
    return run.name
