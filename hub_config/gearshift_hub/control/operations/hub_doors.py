"""What comes from the hub: launches to be planned, stops through its own door, and what became of servers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from gearshift.model.errors import ERRORS, fail, from_body
from gearshift.model.launch import LaunchPlan
from gearshift.model.operation import Operation, OperationKind
from gearshift.model.problems import parse
from gearshift.model.record import Record
from gearshift.model.slug import check_workspace_name
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations import journal, start_plan
from gearshift_hub.control.operations.engine import Engine
from gearshift_hub.control.operations.settling import seen_last
from gearshift_hub.control.services import images, leases, ledger, people, workspaces
from gearshift_hub.control.steps import Run

LAUNCH_WAIT_S = 25.0
"""The hub waits 30 s for an answer."""
SAVE_WAIT_S = 25.0


class ServerReport(Record):
    """What the hub tells of a server that it moved by itself, or that ended by itself."""

    user: str
    workspace: str
    operation: str | None = None
    state: Literal["ready", "failed", "stopped", "exited"]
    exit_code: int | None = None
    pid: int | None = None
    port: int | None = None


async def launch(
    ctx: Context, engine: Engine, user: str, name: str, options: Mapping[str, Any], operation: str | None
) -> LaunchPlan:
    """What to start. Without an operation it came through the hub's own door and is admitted here first.

    An operation that has turned back launches nothing but the old machine of a switch, whose plan is there before
    the hub is asked: so nothing is waited for that never comes.
    """
    if operation is None:
        operation = (await _begin(ctx, user, name, options)).id
    try:
        run = await within(ctx.clock, LAUNCH_WAIT_S, engine.until(operation, _is_decided))
    except DeadlineError:
        raise fail("step_timeout", step="launch", seconds=f"{LAUNCH_WAIT_S:g}") from None
    if run.op.workspace != f"{user}/{name}":
        raise fail("unknown_operation", field="operation", value=operation)
    planned = run.data.get(_which(run))
    if planned is None or run.op.state.is_final:
        raise _why_not(run.op)
    return LaunchPlan.model_validate(planned)


async def own_stop(ctx: Context, engine: Engine, user: str, name: str) -> Operation:
    """A stop through the hub's own door: recorded, and kernel state saved before the hub goes on."""
    with ctx.db.transaction() as session:
        workspaces.get(session, user, name)
    op = await ctx.operations.submit(
        OperationKind.STOP, user, name, actor=user, params={"reason": "asked", "source": "hub"}
    )
    try:
        return await within(ctx.clock, SAVE_WAIT_S, engine.past(op.id, "save"))
    except DeadlineError:
        return engine.read(op.id).op


def report(ctx: Context, told: ServerReport) -> None:
    """A server that ended by itself is charged up to now; what an operation is at work on is left to that."""
    now = ctx.clock.now()
    with ctx.db.transaction() as session:
        row = workspaces.find(session, told.user, told.workspace)
        if row is None or row.state != WorkspaceState.READY or journal.active(session, row.id):
            return
        if told.state in ("stopped", "exited", "failed"):
            gone(ctx, session, row, now, exit_code=told.exit_code)


def gone(
    ctx: Context, session: Session, row: WorkspaceRow, at: datetime, *, exit_code: int | None = None
) -> None:
    """The server is not there any more: nothing is charged after `at`, what it held is free."""
    ledger.close_interval(session, ledger.subject_of(row.id), at)
    leases.give_back(ctx, session, workspace=row.id)
    broken = exit_code not in (None, 0)
    state = WorkspaceState.FAILED if broken else WorkspaceState.STOPPED
    workspaces.move(ctx, session, row, state, reason=f"exit {exit_code}" if broken else "gone")


async def _begin(ctx: Context, user: str, name: str, options: Mapping[str, Any]) -> Operation:
    check_workspace_name(name)
    with ctx.db.transaction() as session:
        people.get(session, user)
        row = workspaces.find(session, user, name)
        spec = _spec(ctx, row, options)
        images.require(ctx, spec.image)
        if row is not None and row.state == WorkspaceState.READY and not journal.active(session, row.id):
            gone(ctx, session, row, seen_last(ctx, row))  # the hub would not ask if it were still running
    return await start_plan.start(ctx, user, name, spec, actor=user, source="hub")


def _spec(ctx: Context, row: WorkspaceRow | None, options: Mapping[str, Any]) -> WorkspaceSpec:
    """What the hub's own form or API asked for, over what the workspace was; else the first of the catalog."""
    known = {key: options[key] for key in WorkspaceSpec.model_fields if options.get(key) is not None}
    machine = ctx.deployment.machines[0]
    base = row.spec if row else {"machine": machine.id, "image": machine.images[0]}
    return parse(WorkspaceSpec, {**base, **known})


def _is_decided(run: Run) -> bool:
    return "launch" in run.data or run.op.direction == "back"


def _which(run: Run) -> str:
    """On the way back the old machine is launched."""
    return "launch_back" if run.op.direction == "back" else "launch"


def _why_not(op: Operation) -> Exception:
    if op.error is not None:
        return from_body({"error": op.error}, ERRORS[op.error["code"]].status)
    return fail("unknown_operation", field="operation", value=op.id)
