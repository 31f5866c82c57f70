"""Workspaces: found, made, and moved from state to state; every change of state writes its event here.

Why a workspace stands where it stands is one word in `reason`, which the screens put into a sentence:
`asked` `idle` `stuck` `end_of_work` `balance` `cost_cap` `shutdown` `disabled` `disk_removed` somebody or a rule
stopped it · `cancelled` its start was · `gone` or `exit N` its server ended by itself · `unknown` found running without
a lease · `stopping_then_starting` a start waits for the stop · `not_switched` the last switch went back · else the
code of the error that ended its start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.slug import check_workspace_name, workspace_name
from gearshift.model.workspace import Workspace, WorkspaceSpec, WorkspaceState
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import ledger


def find(session: Session, owner: str, name: str) -> WorkspaceRow | None:
    row = session.get(WorkspaceRow, (owner, name))
    return None if row is None or row.deleted_at is not None else row


def get(session: Session, owner: str, name: str) -> WorkspaceRow:
    """The row, or `unknown_workspace`."""
    row = find(session, owner, name)
    if row is None:
        raise fail("unknown_workspace", field="workspace", value=f"{owner}/{name}")
    return row


def parse_id(text: object) -> tuple[str, str]:
    """`owner/name` -> both; the name is what comes after the last slash."""
    owner, slash, name = text.rpartition("/") if isinstance(text, str) else ("", "", "")
    if not slash or not owner or not name:
        raise fail("unknown_workspace", field="workspace", value=text)
    return owner, name


def names_for(name: object, display_name: object) -> tuple[str, str]:
    """The id and the display name that a person asked for; one of the two is enough."""
    if isinstance(name, str) and name:
        return check_workspace_name(name), str(display_name or name)[:200]
    if isinstance(display_name, str) and display_name.strip():
        return workspace_name(display_name.strip()), display_name.strip()[:200]
    raise fail("bad_name", field="name", value=name)


def listed(session: Session, owner: str | None) -> list[WorkspaceRow]:
    """One person's workspaces, or all; without those that were deleted."""
    query = select(WorkspaceRow).where(WorkspaceRow.deleted_at.is_(None))
    query = query.order_by(WorkspaceRow.owner, WorkspaceRow.name)
    if owner is not None:
        query = query.where(WorkspaceRow.owner == owner)
    return list(session.scalars(query))


def running_port(session: Session, owner: str, name: str) -> int:
    """Where the workspace's server answers, or `not_running`."""
    row = get(session, owner, name)
    if row.state != WorkspaceState.READY or row.port is None:
        raise fail("not_running", field="workspace", value=row.id, workspace=row.id)
    return row.port


def in_states(session: Session, states: Sequence[WorkspaceState]) -> list[WorkspaceRow]:
    return list(session.scalars(select(WorkspaceRow).where(WorkspaceRow.state.in_(states))))


def make(
    ctx: Context, session: Session, owner: str, name: str, display_name: str, spec: WorkspaceSpec
) -> WorkspaceRow:
    """A new workspace that is stopped; after a deleted one of this name it goes on counting that one's launches."""
    row = session.get(WorkspaceRow, (owner, name))
    if row is None:
        short = hashlib.sha256(f"{owner}/{name}".encode()).hexdigest()[:8]
        row = WorkspaceRow(owner=owner, name=name, short=short, generation=0)
        session.add(row)
    row.display_name = display_name
    row.spec = spec.model_dump(mode="json")
    row.state, row.reason, row.since = WorkspaceState.STOPPED, None, ctx.clock.now()
    row.deleted_at = None
    session.flush()
    return row


def hide(ctx: Context, session: Session, row: WorkspaceRow) -> None:
    """Deleted: nobody sees it any more; the ledger and the journal still name it."""
    row.deleted_at = ctx.clock.now()
    session.flush()
    data = {"owner": row.owner, "name": row.name, "state": "gone"}
    ctx.events.add(session, "workspace.state", data, owner=row.owner)


def move(
    ctx: Context,
    session: Session,
    row: WorkspaceRow,
    state: WorkspaceState,
    *,
    reason: str | None = None,
    operation: str | None = None,
) -> None:
    """The one way to change a workspace's state: sets it and tells it."""
    changed = row.state != state
    row.state = state
    row.reason = reason
    row.operation = operation
    if changed:
        row.since = ctx.clock.now()
    if not state.holds_machine:
        row.url = row.port = row.pid = row.tree = row.ready_at = row.cost_cap_nano = None
    session.flush()
    tell(ctx, session, row)


def tell(ctx: Context, session: Session, row: WorkspaceRow) -> None:
    """Its record as an event, for whatever changed on it."""
    record = shown(session, row).model_dump(mode="json")
    ctx.events.add(session, "workspace.state", record, owner=row.owner, workspace=row.id)


def set_spec(session: Session, row: WorkspaceRow, spec: WorkspaceSpec) -> None:
    row.spec = spec.model_dump(mode="json")
    session.flush()


def spec_of(row: WorkspaceRow) -> WorkspaceSpec:
    return WorkspaceSpec.read(row.spec)


def shown(session: Session, row: WorkspaceRow) -> Workspace:
    """As everybody sees it."""
    interval = ledger.open_of(session, ledger.subject_of(row.id))
    return Workspace(
        owner=row.owner,
        name=row.name,
        display_name=row.display_name,
        spec=spec_of(row),
        state=WorkspaceState(row.state),
        reason=row.reason,
        since=row.since,
        operation=row.operation,
        url=row.url,
        interval_open=interval is not None,
        price_per_hour_nano=interval.price_per_hour_nano if interval else None,
    )


def observed(row: WorkspaceRow, where: dict[str, Any]) -> None:
    """Where its server answers, as the hub told: url, port, pid, tree."""
    row.url, row.port = where.get("url"), where.get("port")
    row.pid, row.tree = where.get("pid"), where.get("tree")
