"""What time brings about: hourly charges, the end of a balance or of a cap, forgetting old events."""

from __future__ import annotations

from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations import journal
from gearshift_hub.control.reconcile.servers import stop_for
from gearshift_hub.control.services import ledger, workspaces


async def charge(ctx: Context) -> None:
    """Write the lines of the full hours that open intervals have passed."""
    now = ctx.clock.now()
    with ctx.db.transaction() as session:
        ledger.charge_hours(session, now)


async def stop_what_must(ctx: Context) -> None:
    """Workspaces that nobody can or wants to pay for any more."""
    with ctx.db.transaction() as session:
        rows = workspaces.in_states(session, [WorkspaceState.READY])
        found = [
            (row.owner, row.name, reason)
            for row in rows
            if not journal.active(session, row.id) and (reason := _reason(ctx, session, row)) is not None
        ]
    for owner, name, reason in found:
        await stop_for(ctx, owner, name, reason)


async def forget(ctx: Context) -> None:
    """Events older than a stream may resume from."""
    ctx.events.prune()


def _reason(ctx: Context, session: Session, row: WorkspaceRow) -> str | None:
    now = ctx.clock.now()
    subject = ledger.subject_of(row.id)
    interval = ledger.open_of(session, subject)
    if interval is None or interval.price_per_hour_nano == 0:
        return None
    if ledger.balance(session, row.owner, now) <= 0:
        return "balance"
    if (
        row.cost_cap_nano is not None
        and ledger.cost_of(session, subject, now, row.ready_at) >= row.cost_cap_nano
    ):
        return "cost_cap"
    return None
