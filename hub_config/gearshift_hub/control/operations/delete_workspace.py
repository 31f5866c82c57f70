"""Deleting a stopped workspace: the hub's record of its server and its kept states go; files and ledger lines stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.operation import Operation, OperationKind
from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations import journal
from gearshift_hub.control.operations.joining import busy
from gearshift_hub.control.operations.settling import row_of
from gearshift_hub.control.services import plans, states, workspaces
from gearshift_hub.control.services.plans import Plan
from gearshift_hub.control.steps import Flow, Run, StepWork

HUB_S = 30.0


def register(ctx: Context) -> None:
    """`delete_workspace {workspace}`."""
    plans.register(ctx, "delete_workspace", propose=propose, perform=perform)
    steps = _Steps(ctx)
    ctx.flows[OperationKind.DELETE_WORKSPACE] = Flow(
        steps={
            "server": StepWork(steps.server, seconds=lambda _run: HUB_S),
            "state": StepWork(steps.state, seconds=lambda _run: HUB_S),
            "hide": StepWork(steps.hide),
        }
    )
    ctx.hooks.account_deleted.append(steps.person_gone)


async def propose(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """What goes for good, counted; what stays needs no figure."""
    owner, name = workspaces.parse_id(body.get("workspace"))
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        _check_stopped(session, row)
        kept = states.listed(session, owner, name)
    return {
        "workspace": row.id,
        "display_name": row.display_name,
        "machine": row.spec["machine"],
        "states": len(kept),
        "state_bytes": sum(one.bytes for one in kept),
        "variables": sum(one.variables for one in kept[:1]),
        "goes": ["workspace", "states"],
        "stays": ["files", "disks", "datasets", "jobs", "ledger"],
        "price_per_hour_nano": 0,
        "max_cost_nano": 0,
    }


async def perform(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    owner, name = workspaces.parse_id(plan.figures["workspace"])
    return await ctx.operations.submit(OperationKind.DELETE_WORKSPACE, owner, name, actor=actor.name)


def _check_stopped(session: Session, row: WorkspaceRow) -> None:
    others = journal.active(session, row.id)
    if others:
        raise busy(others[-1])
    if not WorkspaceState(row.state).can_start:
        raise fail("still_running", field="workspace", value=row.id, workspace=row.id, state=row.state)


class _Steps:
    """Each may be done again; what is gone already is success."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def server(self, run: Run) -> None:
        await self._ctx.hub.remove(run.owner, str(run.name))

    async def state(self, run: Run) -> None:
        with self._ctx.db.transaction() as session:
            row = session.get(WorkspaceRow, (run.owner, str(run.name)))
            if row is not None:
                states.forget_all(self._ctx, session, row)

    async def hide(self, run: Run) -> None:
        with self._ctx.db.transaction() as session:
            if workspaces.find(session, run.owner, str(run.name)) is not None:
                workspaces.hide(self._ctx, session, row_of(session, run))

    async def person_gone(self, name: str) -> None:
        """With an account goes everything that was kept of its kernels."""
        with self._ctx.db.transaction() as session:
            for row in workspaces.listed(session, name):
                states.forget_all(self._ctx, session, row)
