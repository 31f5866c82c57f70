"""Kept kernel states: recorded when something was saved, listed, found, forgotten by age and by the bound."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.kept_state import KeptKernel, KeptState, StateKind, pinned, to_forget
from gearshift.model.units import format_bytes
from sqlalchemy import Select, delete, func, select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.states import StateRow
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import workspaces

NAMES_OF_A_KERNEL = 500
KERNELS = 100
LONGEST = 200
"""The report is the person's own server's word: as much of it is kept as a list can show."""


def keep(
    ctx: Context,
    session: Session,
    *,
    owner: str,
    name: str,
    operation: str,
    kind: StateKind,
    report: Mapping[str, Any],
    note: str = "",
    reason: str | None = None,
) -> bool:
    """Record what an operation saved, once; False when nothing of it lies on the box. What is measured counts, not what
    the server says. A snapshot over the bound is taken back, and refused with `state_full`.
    """
    if session.get(StateRow, operation) is not None:
        return True
    row = workspaces.get(session, owner, name)
    size = ctx.backend.box.state_bytes(row.short, operation)
    if size is None:
        return False
    if kind is not StateKind.STOP:
        _check_room(ctx, session, row, operation, size)
    now = ctx.clock.now()
    session.add(
        StateRow(
            id=operation,
            number=(session.scalar(select(func.max(StateRow.number))) or 0) + 1,
            owner=owner,
            name=name,
            short=row.short,
            kind=kind,
            note=note,
            reason=reason,
            machine=row.spec["machine"],
            image=row.spec["image"],
            taken_at=now,
            expires_at=now + timedelta(days=ctx.deployment.state.keep_days),
            bytes=size,
            seconds=_number(report.get("seconds")),
            kernels=[kernel.model_dump(mode="json") for kernel in _kernels(report)],
        )
    )
    session.flush()
    _push_out(ctx, session, owner)
    tell(ctx, session, owner, row.id)
    return True


def find(session: Session, owner: str, name: str, state: object) -> StateRow | None:
    row = session.get(StateRow, state) if isinstance(state, str) else None
    return row if row is not None and (row.owner, row.name) == (owner, name) else None


def get(session: Session, owner: str, name: str, state: object) -> StateRow:
    """The row, or `unknown_state`."""
    row = find(session, owner, name, state)
    if row is None:
        raise fail("unknown_state", field="state", value=state, workspace=f"{owner}/{name}")
    return row


def newest(session: Session, owner: str, name: str) -> StateRow | None:
    """What a plain start brings back."""
    return session.scalars(_of(owner, name).limit(1)).first()


def listed(session: Session, owner: str, name: str | None = None) -> list[KeptState]:
    """The newest first; the saves of stops at which no kernel ran are nothing to show."""
    return [shown(row) for row in session.scalars(_of(owner, name)) if row.kernels]


def shown(row: StateRow) -> KeptState:
    return KeptState(
        id=row.id,
        owner=row.owner,
        workspace=f"{row.owner}/{row.name}",
        kind=StateKind(row.kind),
        note=row.note,
        reason=row.reason,
        machine=row.machine,
        image=row.image,
        taken_at=row.taken_at,
        expires_at=row.expires_at,
        bytes=row.bytes,
        kernels=tuple(KeptKernel(**kernel) for kernel in row.kernels),
    )


def forget(ctx: Context, session: Session, row: StateRow) -> None:
    """The bytes go, then the row; what is gone already is success."""
    ctx.backend.box.forget_state(row.short, row.id)
    session.delete(row)
    session.flush()
    tell(ctx, session, row.owner, f"{row.owner}/{row.name}")


def forget_all(ctx: Context, session: Session, row: WorkspaceRow) -> None:
    """Everything that was kept of one workspace."""
    session.execute(delete(StateRow).where(StateRow.owner == row.owner, StateRow.name == row.name))
    ctx.backend.box.forget_states(row.short)


def room(ctx: Context, session: Session, owner: str, name: str) -> int:
    """What another snapshot of this workspace may take, once what it replaces is gone."""
    held = pinned(_all(session, owner), adding_to=f"{owner}/{name}")
    return max(0, ctx.deployment.state.per_person_bytes - sum(one.bytes for one in held))


def snapshot_first(
    ctx: Context, session: Session, workspace: str, body: Mapping[str, Any], *, possible: bool
) -> dict[str, Any]:
    """Of the plan of a switch: whether its save is kept as a snapshot, and the room there is for one."""
    asked = body.get("snapshot", False)
    if not isinstance(asked, bool):
        raise fail("bad_request", field="snapshot", value=asked, allowed=["true", "false"])
    return {"asked": asked and possible, "room_bytes": room(ctx, session, *workspaces.parse_id(workspace))}


async def prune(ctx: Context) -> None:
    """Forget what the rule says, person by person."""
    with ctx.db.transaction() as session:
        for owner in session.scalars(select(StateRow.owner).distinct()).all():
            _push_out(ctx, session, owner)


def tell(ctx: Context, session: Session, owner: str, workspace: str) -> None:
    """That the list of kept states changed; readers fetch it."""
    ctx.events.add(session, "state.kept", {"workspace": workspace}, owner=owner, workspace=workspace)


def _of(owner: str, name: str | None) -> Select[StateRow]:
    query = select(StateRow).where(StateRow.owner == owner)
    if name is not None:
        query = query.where(StateRow.name == name)
    return query.order_by(StateRow.number.desc())


def _all(session: Session, owner: str) -> list[KeptState]:
    return [shown(row) for row in session.scalars(_of(owner, None))]


def _push_out(ctx: Context, session: Session, owner: str) -> None:
    bound = ctx.deployment.state.per_person_bytes
    for one in to_forget(_all(session, owner), ctx.clock.now(), bound):
        forget(ctx, session, session.get_one(StateRow, one.id))


def _check_room(ctx: Context, session: Session, row: WorkspaceRow, operation: str, size: int) -> None:
    limit, left = ctx.deployment.state.per_person_bytes, room(ctx, session, row.owner, row.name)
    if size <= left:
        return
    ctx.backend.box.forget_state(row.short, operation)
    raise fail(
        "state_full",
        field="state",
        size=format_bytes(size),
        limit=format_bytes(limit),
        used=format_bytes(limit - left),
    )


def _kernels(report: Mapping[str, Any]) -> list[KeptKernel]:
    told = report.get("kernels")
    kernels = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    return [_kernel(one) for one in kernels[:KERNELS]]


def _kernel(told: Mapping[str, Any]) -> KeptKernel:
    variables = [one for one in told.get("variables") or () if isinstance(one, dict)]
    names = [_text(one.get("name")) for one in variables if one.get("verdict") == "copy"]
    return KeptKernel(
        kernel_id=_text(told.get("kernel_id")),
        path=_text(told.get("path")),
        name=_text(told.get("name")),
        variables=tuple(names[:NAMES_OF_A_KERNEL]),
        lost=len(variables) - len(names),
    )


def _text(told: object) -> str:
    """A NUL is text that no database keeps."""
    return str(told or "").replace("\0", "")[:LONGEST]


def _number(told: object) -> float:
    """Seconds as told, but none that would hold a start for ever."""
    return min(max(float(told), 0.0), 3600.0) if isinstance(told, int | float) else 0.0
