"""Exchanging one machine for another: reserve what the old lease lacks, change price and spec at one instant, one lease."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.lease import Grant, Lease, Purpose
from gearshift.model.machine import Machine
from gearshift.model.units import to_iso
from gearshift.model.workspace import WorkspaceSpec
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations.settling import row_of
from gearshift_hub.control.services import leases, ledger, wait_line, workspaces
from gearshift_hub.control.services.admission import admit_workspace
from gearshift_hub.control.steps import Run


def new_spec(run: Run) -> WorkspaceSpec:
    return WorkspaceSpec.read(run.params["spec"])


def new_machine(ctx: Context, run: Run) -> Machine:
    machine = ctx.deployment.machine(new_spec(run).machine)
    assert machine is not None
    return machine


def predicted_s(run: Run) -> float:
    """What the plan said that saving takes."""
    return float(run.params.get("predicted_seconds", 0.0))


def reserve(ctx: Context, run: Run, *, keep_memory: bool) -> dict[str, Any] | None:
    """Take what the old lease lacks. With `keep_memory` the old tree is only frozen and keeps its own memory."""
    with ctx.db.transaction() as session:
        if "grant" in run.data:
            return None
        row, old = row_of(session, run), _old_lease(session, run)
        wait_line.settle(ctx, session, run.workspace, new_spec(run).machine, run.id)
        admission = admit_workspace(
            ctx, session, run.owner, row.name, new_spec(run), replacing=old, keep_memory=keep_memory
        )
        grant = admission.grants[0]
        leases.take(
            ctx,
            session,
            grant,
            owner=run.owner,
            purpose=Purpose.SWITCH,
            workspace=run.workspace,
            operation=run.id,
            expires_at=ctx.clock.now() + timedelta(seconds=ctx.deployment.deadlines.lease(predicted_s(run))),
        )
        run.record(
            session,
            grant=grant.model_dump(mode="json"),
            price=admission.price_per_hour_nano,
            old=_old(row, old),
        )
    return {"machine": grant.machine, "devices": list(grant.device_ids)}


def give_up(ctx: Context, run: Run) -> None:
    """The reservation goes; the old lease was never touched."""
    with ctx.db.transaction() as session:
        leases.give_back(ctx, session, operation=run.id)


def change_over(ctx: Context, run: Run, server: dict[str, Any], *, lease: bool = False) -> None:
    """Old price to new price and old spec to new spec, in one transaction at one instant; once. With `lease` the two
    leases become one at that instant too: where one tree goes on, nothing of the old machine is held afterwards.
    """
    if "verified_at" in run.data:
        return
    now = ctx.clock.now()
    with ctx.db.transaction() as session:
        row = row_of(session, run)
        ledger.change_price(
            session,
            owner=run.owner,
            subject=ledger.subject_of(run.workspace),
            machine=new_machine(ctx, run),
            price_per_hour_nano=run.data["price"],
            at=now,
        )
        workspaces.set_spec(session, row, new_spec(run))
        workspaces.observed(row, server)
        row.seen_at = row.active_at = now
        if run.params.get("max_cost_nano") is not None:
            row.cost_cap_nano, row.ready_at = run.params["max_cost_nano"], now
        run.record(session, verified_at=to_iso(now))
        if lease:
            one_lease(ctx, session, run)


def one_lease(ctx: Context, session: Session, run: Run) -> None:
    """The reservation and what passed over from the old lease become the one lease of the new machine."""
    held = leases.of_workspace(session, run.workspace)
    if len(held) == 1 and held[0].purpose is Purpose.WORKSPACE and held[0].operation == run.id:
        return
    leases.give_back(ctx, session, workspace=run.workspace)
    leases.take(
        ctx,
        session,
        Grant(**run.data["grant"]),
        owner=run.owner,
        purpose=Purpose.WORKSPACE,
        workspace=run.workspace,
        operation=run.id,
        whole=True,
    )


def _old_lease(session: Session, run: Run) -> Lease:
    held = leases.of_workspace(session, run.workspace, Purpose.WORKSPACE)
    if not held:
        raise fail("not_running", workspace=run.workspace)
    return held[0]


def _old(row: WorkspaceRow, lease: Lease) -> dict[str, Any]:
    """What going back needs to know."""
    return {
        "spec": dict(row.spec),
        "devices": list(lease.device_ids),
        "server": {"url": row.url, "port": row.port, "pid": row.pid, "tree": row.tree},
    }
