"""The start: admit, lease, launch, ready, restore, meter. One that never gets ready costs nothing and leaves nothing."""

from __future__ import annotations

from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.launch import LaunchPlan
from gearshift.model.lease import Purpose
from gearshift.model.operation import OperationState
from gearshift.model.units import from_iso, to_iso
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.hub import ServerState
from gearshift_hub.control.operations import bringing_back
from gearshift_hub.control.operations.settling import row_of, settle
from gearshift_hub.control.operations.stale_hold import past_stale_hold
from gearshift_hub.control.services import images, launches, leases, ledger, wait_line, workspaces
from gearshift_hub.control.services.admission import admit_workspace
from gearshift_hub.control.steps import Flow, Run, StepWork

HUB_CLEANS_UP_S = 10.0
"""After the hub's own deadline it still ends what was started."""
WATCH_S = 0.2
WATCH_GRACE_S = 2.0
"""A spawn of the hub's own shows as pending from its first moment; past this, none is under way."""
BEFORE_LAUNCH = ("admit", "lease")


def flow(ctx: Context) -> Flow:
    """The steps of a start, on this control."""
    start = _Start(ctx)
    deadlines = ctx.deployment.deadlines
    return Flow(
        steps={
            "admit": StepWork(start.admit),
            "lease": StepWork(start.lease, undo=start.give_back),
            "launch": StepWork(start.launch, seconds=lambda _run: 30.0),
            "ready": StepWork(
                start.ready,
                undo=start.end_server,
                seconds=lambda run: deadlines.start + HUB_CLEANS_UP_S + images.seconds(ctx, _spec(run).image),
            ),
            "restore": StepWork(start.restore, seconds=start.restore_s),
            "meter": StepWork(start.meter, undo=start.unmeter),
        },
        begin=start.begin,
        queued=start.queued,
        end=start.end,
        late=start.late,
        instant=frozenset({"admit", "lease", "launch"}),
    )


def where(state: ServerState) -> dict[str, Any]:
    """Where a server answers, for the journal."""
    return {"url": state.url, "port": state.port, "pid": state.pid, "tree": state.tree}


class _Start:
    """Parameters: `spec`, `state` (which kept state comes back, see `bringing_back`), `safe` (without the person's own
    packages), and from a plan `max_cost_nano`.

    Data: `price`, `devices`, `state`, `state_seconds`, `launch`, `server`, `ready_at`.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def begin(self, run: Run, session: Session) -> None:
        row = row_of(session, run)
        if row.state == WorkspaceState.STOPPING_UNCONFIRMED:
            return
        workspaces.set_spec(session, row, _spec(run))
        workspaces.move(self._ctx, session, row, WorkspaceState.STARTING, operation=run.id)

    def queued(self, run: Run, session: Session) -> None:
        row = row_of(session, run)
        row.reason = "stopping_then_starting"
        workspaces.tell(self._ctx, session, row)

    async def admit(self, run: Run) -> None:
        with self._ctx.db.transaction() as session:
            row = row_of(session, run)
            if row.state == WorkspaceState.STOPPING_UNCONFIRMED:
                raise fail("stop_failed", workspace=row.id, since=to_iso(row.since))
            admit_workspace(self._ctx, session, run.owner, row.name, _spec(run), restarting=True)

    async def lease(self, run: Run) -> dict[str, Any] | None:
        """Admission and lease in one transaction: between the two there is no gap to be sold in."""
        ctx = self._ctx
        with ctx.db.transaction() as session:
            if leases.of_operation(session, run.id):
                return None
            leases.give_back(ctx, session, workspace=run.workspace)
            wait_line.settle(ctx, session, run.workspace, _spec(run).machine, run.id)
            assert run.name is not None
            admission = admit_workspace(ctx, session, run.owner, run.name, _spec(run))
            taken = leases.take(
                ctx,
                session,
                admission.grants[0],
                owner=run.owner,
                purpose=Purpose.WORKSPACE,
                workspace=run.workspace,
                operation=run.id,
            )
            run.record(session, price=admission.price_per_hour_nano, devices=list(taken.device_ids))
        return {"machine": taken.machine, "devices": list(taken.device_ids)}

    async def give_back(self, run: Run) -> None:
        with self._ctx.db.transaction() as session:
            leases.give_back(self._ctx, session, operation=run.id)

    async def launch(self, run: Run) -> dict[str, Any]:
        """The launch plan, for the spawner to fetch; then what disks and data sets have to prepare."""
        if "launch" not in run.data:
            with self._ctx.db.transaction() as session:
                run.record(session, **bringing_back.chosen(session, run))
                plan = self._plan(session, run)
                run.record(session, launch=plan.model_dump(mode="json"))
        plan = LaunchPlan(**run.data["launch"])
        for prepare in self._ctx.hooks.before_launch:
            await prepare(run.owner, plan.workspace.name, plan.person)
        return {"tree": plan.tree}

    def _plan(self, session: Session, run: Run) -> LaunchPlan:
        assert run.name is not None
        return launches.build(
            self._ctx,
            session,
            owner=run.owner,
            name=run.name,
            operation=run.id,
            spec=_spec(run),
            device_ids=tuple(run.data["devices"]),
            state=run.data["state"],
            safe=run.params.get("safe") is True,
        )

    async def ready(self, run: Run) -> dict[str, Any]:
        """Ask the hub and wait. The moment it says ready is where the interval opens."""
        assert run.name is not None
        try:
            if run.params.get("source") == "hub":
                state = await self._watch(run)
            else:
                await images.made(self._ctx, run.workspace, _spec(run).image)
                state = await self._start_server(run, run.name)
        except GearshiftError as error:
            raise with_machine(error, _spec(run).machine) from error
        now = self._ctx.clock.now()
        with self._ctx.db.transaction() as session:
            run.record(session, server=where(state), ready_at=run.data.get("ready_at") or to_iso(now))
        return {"url": state.url}

    async def _start_server(self, run: Run, name: str) -> ServerState:
        hub = self._ctx.hub
        return await past_stale_hold(self._ctx, run.owner, name, lambda: hub.start(run.owner, name, run.id))

    async def _watch(self, run: Run) -> ServerState:
        """A start that came through the hub's own door: the hub is at it already, we look on."""
        began = self._ctx.clock.monotonic()
        while True:
            assert run.name is not None
            state = await self._ctx.hub.state(run.owner, run.name)
            if state.ready and state.operation == run.id:
                return state
            if state.pending is None and self._ctx.clock.monotonic() - began > WATCH_GRACE_S:
                raise fail("start_failed", machine=_spec(run).machine, exit=state.exit_code)
            await self._ctx.clock.sleep(WATCH_S)

    def restore_s(self, run: Run) -> float:
        return bringing_back.seconds(self._ctx, run) + bringing_back.GRACE_S

    async def restore(self, run: Run) -> dict[str, Any] | None:
        """What was kept comes back before pages are let in; whatever goes wrong with that, the workspace is there."""
        if run.data.get("state") is None:
            return None
        port = run.data["server"]["port"]
        report = await bringing_back.into(self._ctx, run, port, run.data["state"])
        return {"restored": report["ok"], "result": {"restored": report}}

    async def end_server(self, run: Run) -> None:
        assert run.name is not None
        await self._ctx.hub.stop(run.owner, run.name, run.id)

    async def meter(self, run: Run) -> None:
        """Ready and charged from the same instant, in one transaction."""
        ctx, spec = self._ctx, _spec(run)
        machine = ctx.deployment.machine(spec.machine)
        assert machine is not None
        ready_at = from_iso(run.data["ready_at"])
        with ctx.db.transaction() as session:
            row = row_of(session, run)
            ledger.open_interval(
                session,
                owner=run.owner,
                subject=ledger.subject_of(run.workspace),
                machine=machine,
                price_per_hour_nano=run.data["price"],
                at=ready_at,
            )
            workspaces.observed(row, run.data["server"])
            row.ready_at, row.seen_at, row.active_at = ready_at, ctx.clock.now(), ready_at
            row.cost_cap_nano = run.params.get("max_cost_nano")
            workspaces.move(ctx, session, row, WorkspaceState.READY)

    async def unmeter(self, run: Run) -> None:
        """Nothing is charged for it, not even the instant it was open."""
        with self._ctx.db.transaction() as session:
            subject = ledger.subject_of(run.workspace)
            interval = ledger.open_of(session, subject)
            if interval is not None:
                ledger.close_interval(session, subject, interval.opened_at)

    def end(self, run: Run, session: Session) -> None:
        if run.op.state is OperationState.DONE:
            return
        leases.give_back(self._ctx, session, operation=run.id)
        row = row_of(session, run)
        if row.generation == 0:
            session.delete(row)
            session.flush()
            self._ctx.events.add(
                session,
                "workspace.state",
                {"owner": row.owner, "name": row.name, "state": "gone"},
                owner=row.owner,
            )
            return
        if row.state == WorkspaceState.STOPPING_UNCONFIRMED:
            return
        state, reason = _where_it_ends(run)
        settle(self._ctx, session, run, state, reason)

    def late(self, run: Run, step: str, seconds: float) -> GearshiftError:
        if step == "ready" and run.op.direction == "forward":
            limit = self._ctx.deployment.deadlines.start
            return fail("start_timeout", machine=_spec(run).machine, seconds=f"{limit:g}")
        return fail("step_timeout", step=step, seconds=f"{seconds:g}")


def with_machine(error: GearshiftError, machine: str) -> GearshiftError:
    """The same refusal with the machine's name in its sentence."""
    if error.code not in ("start_failed", "start_timeout"):
        return error
    facts = {"exit": None, "seconds": None, **error.facts, "machine": machine}
    return fail(error.code, **facts)


def _where_it_ends(run: Run) -> tuple[WorkspaceState, str | None]:
    if run.op.state is OperationState.CANCELLED:
        return WorkspaceState.STOPPED, "cancelled"
    code = str((run.op.error or {}).get("code", "start_failed"))
    begun = any(step.name not in BEFORE_LAUNCH and step.started_at is not None for step in run.op.steps)
    return (WorkspaceState.FAILED if begun else WorkspaceState.STOPPED), code


def _spec(run: Run) -> WorkspaceSpec:
    return WorkspaceSpec.read(run.params["spec"])
