"""What every flow does to its workspace at the end: state, money and leases, unless a later operation has it already."""

from __future__ import annotations

from datetime import datetime

from gearshift.model.operation import OperationKind
from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations import journal
from gearshift_hub.control.services import leases, ledger, workspaces
from gearshift_hub.control.steps import Run


def row_of(session: Session, run: Run) -> WorkspaceRow:
    assert run.name is not None
    return workspaces.get(session, run.owner, run.name)


def settle(
    ctx: Context, session: Session, run: Run, state: WorkspaceState, reason: str | None = None
) -> None:
    """Leave the workspace in this state; one that another operation waits for is left to that one."""
    row = row_of(session, run)
    if any(other.id != run.id for other in journal.active(session, run.workspace)):
        if row.reason == "stopping_then_starting" and run.op.kind is OperationKind.START:
            row.reason = "asked"
            workspaces.tell(ctx, session, row)
        return
    workspaces.move(ctx, session, row, state, reason=reason)


def close(ctx: Context, session: Session, run: Run, at: datetime) -> None:
    """Nothing is charged after `at`; closing what is closed is success."""
    ledger.close_interval(session, ledger.subject_of(run.workspace), at)
    balance = ledger.balance(session, run.owner, ctx.clock.now())
    ctx.events.add(session, "balance", {"balance_nano": balance}, owner=run.owner)


def free(ctx: Context, session: Session, run: Run) -> None:
    """Give back whatever the workspace holds."""
    leases.give_back(ctx, session, workspace=run.workspace)


def seen_last(ctx: Context, row: WorkspaceRow) -> datetime:
    """The last moment its server was seen alive."""
    return row.seen_at or row.ready_at or ctx.clock.now()
