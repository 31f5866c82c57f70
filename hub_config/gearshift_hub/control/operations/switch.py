"""The switch: reserve, save, stop, start, restore, verify, release. Until *verify* has passed, every failure goes back.

Going back undoes what was begun, last first: the new server is ended, the old one thawed (or started again, and what
was saved restored), the reservation given up. The old price holds until *verify*; one instant then changes it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.launch import LaunchPlan
from gearshift.model.lease import Grant, Lease, Purpose
from gearshift.model.machine import Machine
from gearshift.model.operation import OperationState, StepState
from gearshift.model.units import from_iso, to_iso
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.hub import ServerState
from gearshift_hub.control.operations.settling import close, free, row_of, seen_last, settle
from gearshift_hub.control.operations.start import HUB_CLEANS_UP_S, where, with_machine
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import launches, leases, ledger, workspaces
from gearshift_hub.control.services.admission import admit_workspace
from gearshift_hub.control.steps import Flow, Run, StepWork

QUIET_S = 0.1


def flow(ctx: Context) -> Flow:
    """The steps of a switch, on this control."""
    switch, deadlines = _Switch(ctx), ctx.deployment.deadlines

    def save_seconds(run: Run) -> float:
        return deadlines.save(float(run.params.get("predicted_seconds", 0.0)))

    start_seconds = deadlines.start + HUB_CLEANS_UP_S
    return Flow(
        steps={
            "reserve": StepWork(switch.reserve, undo=switch.give_up),
            "save": StepWork(switch.save, seconds=save_seconds),
            "stop": StepWork(
                switch.stop,
                undo=switch.back_on_old,
                seconds=lambda run: (
                    start_seconds + save_seconds(run)
                    if run.op.direction == "back"
                    else deadlines.term + HUB_CLEANS_UP_S
                ),
            ),
            "start": StepWork(switch.start, undo=switch.end_new, seconds=lambda _run: start_seconds),
            "restore": StepWork(switch.restore, seconds=save_seconds),
            "verify": StepWork(switch.verify, seconds=lambda _run: deadlines.verify),
            "release": StepWork(switch.release, seconds=lambda _run: deadlines.term + HUB_CLEANS_UP_S),
        },
        begin=switch.begin,
        end=switch.end,
        late=switch.late,
        instant=frozenset({"reserve"}),
    )


class _Switch:
    """Parameters: `spec` (the new one), `freeze`, `busy`, `leave_out`, `predicted_seconds`, `max_cost_nano`.

    Data: `old` (spec, price, devices), `grant`, `price`, `saved`, `stopped` ("frozen" or "stopped"), `stopped_at`,
    `launch`, `launch_back`, `server` (the new one), `verified_at`.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def begin(self, run: Run, session: Session) -> None:
        row = row_of(session, run)
        workspaces.move(self._ctx, session, row, WorkspaceState.SWITCHING, operation=run.id)

    async def reserve(self, run: Run) -> dict[str, Any] | None:
        """What the old lease lacks; with `freeze` the new memory as a whole, since the old tree keeps its own."""
        ctx = self._ctx
        with ctx.db.transaction() as session:
            if "grant" in run.data:
                return None
            row, old = row_of(session, run), _old_lease(session, run)
            admission = admit_workspace(
                ctx,
                session,
                run.owner,
                row.name,
                _new_spec(run),
                replacing=old,
                keep_memory=bool(run.params.get("freeze")),
            )
            grant = admission.grants[0]
            seconds = ctx.deployment.deadlines.lease(float(run.params.get("predicted_seconds", 0.0)))
            leases.take(
                ctx,
                session,
                grant,
                owner=run.owner,
                purpose=Purpose.SWITCH,
                workspace=run.workspace,
                operation=run.id,
                expires_at=ctx.clock.now() + timedelta(seconds=seconds),
            )
            interval = ledger.open_of(session, ledger.subject_of(run.workspace))
            run.record(
                session,
                grant=grant.model_dump(mode="json"),
                price=admission.price_per_hour_nano,
                old={
                    "spec": dict(row.spec),
                    "devices": list(old.device_ids),
                    "price": interval.price_per_hour_nano if interval else 0,
                    "server": {"url": row.url, "port": row.port, "pid": row.pid, "tree": row.tree},
                },
            )
        return {"machine": grant.machine, "devices": list(grant.device_ids)}

    async def give_up(self, run: Run) -> None:
        """The reservation goes. If the old machine could not come back either, nothing is left held in the hub."""
        ctx = self._ctx
        if _is_lost(run):
            await ctx.hub.stop(run.owner, _name(run), run.id)
            await ctx.hub.release(run.owner, _name(run), run.id, "new")
        with ctx.db.transaction() as session:
            leases.give_back(ctx, session, operation=run.id)

    async def save(self, run: Run) -> dict[str, Any]:
        """Kernels' variables, while everything still runs; if that fails, nothing was stopped."""
        owner, name, port = self._server(run)
        try:
            report = await self._ctx.servers.save(
                owner,
                name,
                port,
                run.id,
                busy=str(run.params.get("busy", "wait")),
                leave_out=list(run.params.get("leave_out", ())),
            )
        except ServerGoneError as error:
            raise fail("save_failed", cause="the server did not answer") from error
        return {"result": {"saved": report}}

    def _server(self, run: Run) -> tuple[str, str, int]:
        with self._ctx.db.transaction() as session:
            row = row_of(session, run)
            port = row.port
        if port is None:
            raise fail("save_failed", cause="the server is gone")
        return run.owner, row.name, port

    async def stop(self, run: Run) -> dict[str, Any]:
        """Hold the hub's own doors, then freeze or end the old tree."""
        ctx, name = self._ctx, _name(run)
        await ctx.hub.hold(run.owner, name, run.id)
        how = await ctx.hub.stop(run.owner, name, run.id, freeze=bool(run.params.get("freeze")), resume=True)
        with ctx.db.transaction() as session:
            run.record(session, stopped=how, stopped_at=to_iso(ctx.clock.now()))
        return {"stopped": how}

    async def back_on_old(self, run: Run) -> dict[str, Any]:
        """The old machine again: untouched, thawed as it was, or started and given what was saved."""
        hub, name = self._ctx.hub, _name(run)
        now = await self._quiet(run)
        trees = {run.data["old"]["server"]["tree"], run.data.get("launch_back", {}).get("tree")}
        if now.ready and not now.frozen and now.tree in trees:
            how = "untouched" if now.tree == run.data["old"]["server"]["tree"] else "started again"
        elif now.frozen:
            how = "thawed"
            now = await hub.start(run.owner, name, run.id, thaw=True)
        else:
            how = "started again"
            now = await self._start_old(run)
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

    async def _start_old(self, run: Run) -> ServerState:
        if "launch_back" not in run.data:
            with self._ctx.db.transaction() as session:
                self._plan(session, run, run.data["old"], "launch_back")
        state = await self._ctx.hub.start(run.owner, _name(run), run.id)
        if state.tree != run.data["launch_back"]["tree"]:
            raise fail("step_failed", step="stop", cause="another server is running in its place")
        return state

    async def start(self, run: Run) -> dict[str, Any]:
        ctx, name = self._ctx, _name(run)
        if "launch" not in run.data:
            wanted = {"spec": run.params["spec"], "devices": run.data["grant"]["device_ids"]}
            with ctx.db.transaction() as session:
                self._plan(session, run, wanted, "launch")
        plan = LaunchPlan(**run.data["launch"])
        for prepare in ctx.hooks.before_launch:
            await prepare(run.owner, name, plan.person)
        try:
            state = await ctx.hub.start(run.owner, name, run.id)
        except GearshiftError as error:
            raise with_machine(error, _new_spec(run).machine) from error
        with ctx.db.transaction() as session:
            run.record(session, server=where(state))
        return {"url": state.url}

    def _plan(self, session: Session, run: Run, wanted: dict[str, Any], key: str) -> None:
        plan = launches.build(
            self._ctx,
            session,
            owner=run.owner,
            name=_name(run),
            operation=run.id,
            spec=WorkspaceSpec.read(wanted["spec"]),
            device_ids=tuple(wanted["devices"]),
        )
        run.record(session, **{key: plan.model_dump(mode="json")})

    async def end_new(self, run: Run) -> None:
        """End the new server only: a frozen old tree and its token stay."""
        await self._ctx.hub.stop(run.owner, _name(run), run.id, resume=True)

    async def restore(self, run: Run) -> dict[str, Any]:
        report = await self._restore_into(run, run.data["server"]["port"])
        return {"result": {"restored": report}}

    async def _restore_into(self, run: Run, port: int | None) -> dict[str, Any]:
        machine = _new_spec(run).machine
        if port is None:
            raise fail("restore_failed", machine=machine, cause="the hub named no port")
        try:
            return await self._ctx.servers.restore(run.owner, _name(run), port, run.id)
        except ServerGoneError as error:
            raise fail("restore_failed", machine=machine, cause="the server did not answer") from error

    async def verify(self, run: Run) -> dict[str, Any]:
        """The new server answers for itself; from that instant on its price holds."""
        ctx = self._ctx
        if "verified_at" not in run.data:
            port = run.data["server"]["port"]
            try:
                health = await ctx.servers.health(run.owner, _name(run), port)
            except ServerGoneError as error:
                raise fail("step_failed", step="verify", cause="the new server did not answer") from error
            if not health.get("ok"):
                raise fail("step_failed", step="verify", cause=str(health.get("why", "the check failed")))
            self._change_over(run)
        return {"verified_at": run.data["verified_at"]}

    def _change_over(self, run: Run) -> None:
        """Old price to new price and old machine to new machine, in one transaction at one instant."""
        ctx, spec, now = self._ctx, _new_spec(run), self._ctx.clock.now()
        with ctx.db.transaction() as session:
            row = row_of(session, run)
            ledger.change_price(
                session,
                owner=run.owner,
                subject=ledger.subject_of(run.workspace),
                machine=_machine(ctx, spec),
                price_per_hour_nano=run.data["price"],
                at=now,
            )
            workspaces.set_spec(session, row, spec)
            workspaces.observed(row, run.data["server"])
            row.ready_at, row.seen_at, row.active_at = now, now, now
            if run.params.get("max_cost_nano") is not None:
                row.cost_cap_nano = run.params["max_cost_nano"]
            run.record(session, verified_at=to_iso(now))

    async def release(self, run: Run) -> None:
        """The old tree goes, then what it held."""
        await self._ctx.hub.release(run.owner, _name(run), run.id, "new")
        with self._ctx.db.transaction() as session:
            self._one_lease(session, run)

    def _one_lease(self, session: Session, run: Run) -> None:
        """The reservation and what passed over from the old lease become the one lease of the new machine."""
        leases.give_back(self._ctx, session, workspace=run.workspace)
        leases.take(
            self._ctx,
            session,
            Grant(**run.data["grant"]),
            owner=run.owner,
            purpose=Purpose.WORKSPACE,
            workspace=run.workspace,
            whole=True,
        )

    def end(self, run: Run, session: Session) -> None:
        if run.op.state is OperationState.DONE:
            held = leases.of_workspace(session, run.workspace)
            if len(held) != 1 or held[0].purpose is not Purpose.WORKSPACE:
                self._one_lease(session, run)
            settle(self._ctx, session, run, WorkspaceState.READY)
            return
        leases.give_back(self._ctx, session, operation=run.id)
        if _is_lost(run):
            self._lost(run, session)
            return
        settle(self._ctx, session, run, WorkspaceState.READY, "not_switched")

    def _lost(self, run: Run, session: Session) -> None:
        """Not even the old machine came back: it is stopped, charged up to where it ran, with its state saved."""
        at = (
            from_iso(run.data["stopped_at"])
            if "stopped_at" in run.data
            else seen_last(self._ctx, row_of(session, run))
        )
        close(self._ctx, session, run, at)
        free(self._ctx, session, run)
        code = str((run.op.error or {}).get("code", "start_failed"))
        settle(self._ctx, session, run, WorkspaceState.FAILED, code)

    def late(self, run: Run, step: str, seconds: float) -> GearshiftError:
        if step == "start" and run.op.direction == "forward":
            limit = self._ctx.deployment.deadlines.start
            return fail("start_timeout", machine=_new_spec(run).machine, seconds=f"{limit:g}")
        if step == "save":
            return fail("save_failed", cause=f"it took over {seconds:g} s")
        return fail("step_timeout", step=step, seconds=f"{seconds:g}")


def _is_lost(run: Run) -> bool:
    """Going back to the old machine was tried and failed."""
    stop = run.op.step_named("stop")
    return stop.state is StepState.FAILED and bool(stop.note and "undo_error" in stop.note)


def _old_lease(session: Session, run: Run) -> Lease:
    held = leases.of_workspace(session, run.workspace, Purpose.WORKSPACE)
    if not held:
        raise fail("not_running", workspace=run.workspace)
    return held[0]


def _machine(ctx: Context, spec: WorkspaceSpec) -> Machine:
    machine = ctx.deployment.machine(spec.machine)
    assert machine is not None
    return machine


def _new_spec(run: Run) -> WorkspaceSpec:
    return WorkspaceSpec.read(run.params["spec"])


def _name(run: Run) -> str:
    assert run.name is not None
    return run.name
