"""The journal of operations in the database: read, begun, advanced; each change writes its event."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.operation import (
    WAIT,
    Event,
    Operation,
    OperationKind,
    OperationState,
    advance,
    begin,
)
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.operations import OperationRow
from gearshift_hub.control.services import timings
from gearshift_hub.control.steps import Flow, Run


def load(session: Session, id: str) -> Run:
    """The operation as it stands, or `unknown_operation`."""
    row = session.get(OperationRow, id)
    if row is None:
        raise fail("unknown_operation", field="operation", value=id)
    return run_of(row)


def run_of(row: OperationRow) -> Run:
    op = operation_of(row)
    name = op.workspace.rpartition("/")[2] if op.workspace else None
    return Run(op=op, name=name, actor=row.actor, params=dict(row.params), data=dict(row.data))


def operation_of(row: OperationRow) -> Operation:
    return Operation.model_validate(row.journal)


def active(session: Session, workspace: str) -> list[OperationRow]:
    """Those of a workspace that have not ended, oldest first."""
    query = select(OperationRow).where(
        OperationRow.workspace == workspace, OperationRow.state == OperationState.RUNNING
    )
    return list(session.scalars(query.order_by(OperationRow.number)))


def has_ended(session: Session, id: str) -> bool:
    """Of an operation that is known here; an unknown one is somebody else's."""
    row = session.get(OperationRow, id)
    return row is not None and row.state != OperationState.RUNNING


def waits_for(session: Session, id: str) -> str | None:
    """The operation that has to end before this one begins."""
    return session.get_one(OperationRow, id).after


def unfinished(session: Session) -> list[str]:
    query = select(OperationRow.id).where(OperationRow.state == OperationState.RUNNING)
    return list(session.scalars(query.order_by(OperationRow.number)))


def latest(session: Session, workspace: str, kind: OperationKind) -> OperationRow | None:
    query = select(OperationRow).where(OperationRow.workspace == workspace, OperationRow.kind == kind)
    return session.scalar(query.order_by(OperationRow.number.desc()).limit(1))


def listed(session: Session, workspace: str | None, owner: str | None, limit: int) -> list[Operation]:
    """The newest first."""
    query = select(OperationRow).order_by(OperationRow.number.desc()).limit(limit)
    if workspace is not None:
        query = query.where(OperationRow.workspace == workspace)
    if owner is not None:
        query = query.where(OperationRow.owner == owner)
    return [operation_of(row) for row in session.scalars(query)]


def started_since(session: Session, since: datetime) -> int:
    """How many starts were asked for since an instant, by all people together."""
    query = select(func.count()).where(
        OperationRow.kind == OperationKind.START, OperationRow.created_at > since
    )
    return session.scalar(query) or 0


def enter(
    ctx: Context,
    session: Session,
    kind: OperationKind,
    owner: str,
    workspace: str | None,
    *,
    actor: str,
    params: Mapping[str, Any],
    after: str | None,
) -> Operation:
    """Write a new operation down, with what its beginning changes."""
    now = ctx.clock.now()
    op = begin(
        f"op-{secrets.token_hex(8)}", kind, owner, now, workspace=workspace, after_stop=after is not None
    ).model_copy(update=_told_before(params))
    row = OperationRow(
        id=op.id,
        number=(session.scalar(select(func.max(OperationRow.number))) or 0) + 1,
        kind=kind,
        owner=owner,
        workspace=workspace,
        state=op.state,
        after=after,
        actor=actor,
        journal={},
        params=dict(params),
        data={},
        created_at=now,
    )
    session.add(row)
    _write(row, op)
    session.flush()
    run, flow = run_of(row), ctx.flows[kind]
    op = op.model_copy(update={"deadline_at": now + timedelta(seconds=_seconds(flow, run))})
    _write(row, op)
    (flow.queued if after else flow.begin)(run, session)
    _tell(ctx, session, op)
    return op


def apply(
    ctx: Context, session: Session, id: str, event: Event, *, direction: str | None = None
) -> Operation:
    """Advance the journal. An event from before the operation turned (another `direction`) changes nothing."""
    row = session.get_one(OperationRow, id)
    old = operation_of(row)
    if direction is not None and old.direction != direction:
        return old
    new = advance(old, event)
    if new == old:
        return old
    _write(row, new)
    session.flush()
    flow, run = ctx.flows[new.kind], run_of(row)
    if old.step == WAIT and new.direction == "forward" and not new.state.is_final:
        flow.begin(run, session)
    if new.state.is_final:
        flow.end(run, session)
        timings.learn(session, new, row.params, ctx.clock.now())
    _tell(ctx, session, new)
    return new


def _told_before(params: Mapping[str, Any]) -> dict[str, Any]:
    """What the plan said of where it begins, where it goes and how long it takes."""
    spec = params.get("spec") or {}
    return {
        "from_machine": params.get("from_machine"),
        "to_machine": spec.get("machine"),
        "expected": params.get("expected"),
    }


def _seconds(flow: Flow, run: Run) -> float:
    """What all steps forward may take together; going back may take as long again."""
    return sum(work.seconds(run) for work in flow.steps.values())


def _write(row: OperationRow, op: Operation) -> None:
    row.journal = op.model_dump(mode="json")
    row.state = op.state


def _tell(ctx: Context, session: Session, op: Operation) -> None:
    kind = "operation.step"
    if op.state.is_final:
        kind = "operation.done" if op.state is OperationState.DONE else "operation.failed"
    ctx.events.add(session, kind, op.model_dump(mode="json"), owner=op.owner, workspace=op.workspace)
