"""Which operation may begin while others are at work on the same workspace: join, wait, turn the other back, refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.operation import Operation, OperationKind
from sqlalchemy.orm import Session

from gearshift_hub.control.db.operations import OperationRow
from gearshift_hub.control.operations import journal

STOPS = (OperationKind.STOP, OperationKind.SHUTDOWN)


@dataclass(frozen=True)
class Decision:
    """`join` this one; else begin, after `after` has ended, and turn those in `cancel` back first."""

    join: Operation | None = None
    after: str | None = None
    cancel: tuple[str, ...] = ()


def decide(
    session: Session, kind: OperationKind, workspace: str | None, params: Mapping[str, Any]
) -> Decision:
    """The rule of contracts 5 and cases C01, C03. Raises `busy`."""
    if workspace is None:
        return Decision()
    others = journal.active(session, workspace)
    if not others:
        return Decision()
    if kind is OperationKind.START:
        return _start(others, params)
    if kind in STOPS:
        return _stop(others)
    raise busy(others[-1])


def busy(row: OperationRow) -> GearshiftError:
    return fail(
        "busy",
        field="workspace",
        value=row.workspace,
        workspace=row.workspace,
        kind=row.kind,
        operation=row.id,
    )


def _start(others: Sequence[OperationRow], params: Mapping[str, Any]) -> Decision:
    """A start of the same is one start; a start during a stop waits for it."""
    last = others[-1]
    op = journal.operation_of(last)
    if op.kind is OperationKind.START and op.direction == "forward":
        if last.params.get("spec") != params.get("spec"):
            raise busy(last)
        return Decision(join=op)
    if op.kind in STOPS or (op.kind is OperationKind.START and op.direction == "back"):
        return Decision(after=last.id)
    raise busy(last)


def _stop(others: Sequence[OperationRow]) -> Decision:
    """A stop is legal whenever: it joins a stop, and turns back whatever else is at work. What is being deleted stands."""
    if others[-1].kind == OperationKind.DELETE_WORKSPACE:
        raise busy(others[-1])
    stops = [row for row in others if row.kind in STOPS]
    rest = tuple(row.id for row in others if row.kind not in STOPS)
    if stops:
        return Decision(join=journal.operation_of(stops[-1]), cancel=rest)
    return Decision(after=others[-1].id, cancel=rest)
