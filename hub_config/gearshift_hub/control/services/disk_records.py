"""Disks as rows: found by id or name, seen by one person, named in a home, held by running workspaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gearshift.model.disk import Disk, Member, Mode
from gearshift.model.errors import fail
from gearshift.model.slug import slug
from gearshift.model.workspace import WorkspaceState
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.db.disks import DiskHoldRow, DiskMemberRow, DiskRow, DiskState, HomeUsageRow
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import workspaces

HOME = "home"
"""The id under which a person's home is listed; it is no disk: always attached, never shared or deleted."""


def usable(session: Session, user: str) -> list[DiskRow]:
    """The disks this person owns or is a member of, their own first."""
    member = select(DiskMemberRow.disk).where(DiskMemberRow.user == user)
    query = select(DiskRow).where(
        DiskRow.state == DiskState.ACTIVE, or_(DiskRow.owner == user, DiskRow.id.in_(member))
    )
    return sorted(session.scalars(query), key=lambda row: (row.owner != user, row.name, row.owner))


def find(session: Session, user: str, key: str) -> DiskRow:
    """One of this person's disks by id, else by name; `unknown_disk` names what there is."""
    rows = usable(session, user)
    by_id = [row for row in rows if row.id == key]
    by_name = [row for row in rows if row.name == key]
    if by_id or by_name:
        return (by_id or by_name)[0]
    raise fail("unknown_disk", field="disk", value=key, allowed=[row.name for row in rows])


def get(session: Session, disk: str) -> DiskRow:
    """A disk by id that is not in the bin, whoever asks."""
    row = session.get(DiskRow, disk)
    if row is None or row.state != DiskState.ACTIVE:
        raise fail("unknown_disk", field="disk", value=disk, allowed=[])
    return row


def members(session: Session, disk: str) -> dict[str, Mode]:
    query = select(DiskMemberRow).where(DiskMemberRow.disk == disk).order_by(DiskMemberRow.user)
    return {row.user: Mode(row.mode) for row in session.scalars(query)}


def mode_of(session: Session, row: DiskRow, user: str) -> Mode | None:
    return Mode.RW if row.owner == user else members(session, row.id).get(user)


def memberships(session: Session, user: str) -> dict[str, str]:
    """Each disk of this person under its id and its name, with the mode they have."""
    rows = list(reversed(usable(session, user)))  # of two with one name the own one counts
    modes = {row.id: str(mode_of(session, row, user)) for row in rows}
    return {row.name: modes[row.id] for row in rows} | modes


def known(session: Session) -> list[str]:
    return list(session.scalars(select(DiskRow.id).where(DiskRow.state == DiskState.ACTIVE)))


def link_names(rows: Iterable[DiskRow], user: str) -> dict[str, str]:
    """Disk id -> the name of its link in this person's home; a name that two disks have gets its owner's."""
    rows = list(rows)
    count = Counter(row.name for row in rows)
    return {
        row.id: row.name if count[row.name] == 1 or row.owner == user else f"{row.name}-{slug(row.owner)}"
        for row in rows
    }


def holders(session: Session, disk: str) -> list[WorkspaceRow]:
    """The workspaces whose processes have this disk at this moment."""
    query = (
        select(WorkspaceRow)
        .join(
            DiskHoldRow,
            (DiskHoldRow.owner == WorkspaceRow.owner) & (DiskHoldRow.workspace == WorkspaceRow.name),
        )
        .where(DiskHoldRow.disk == disk)
        .order_by(WorkspaceRow.owner, WorkspaceRow.name)
    )
    return [row for row in session.scalars(query) if WorkspaceState(row.state).holds_machine]


def wanting(session: Session, row: DiskRow) -> list[WorkspaceRow]:
    """The workspaces that are to have this disk at their next start."""
    return [
        found
        for found in workspaces.listed(session, None)
        if any(mount.disk in (row.id, row.name) for mount in workspaces.spec_of(found).disks)
        and mode_of(session, row, found.owner)
    ]


def shown(session: Session, row: DiskRow, user: str) -> Disk:
    """As this person sees it."""
    mode = mode_of(session, row, user)
    name = link_names(usable(session, user), user).get(row.id)
    return Disk(
        id=row.id,
        name=row.name,
        owner=row.owner,
        quota_bytes=row.quota_bytes,
        used_bytes=row.used_bytes,
        members=tuple(Member(user=who, mode=what) for who, what in members(session, row.id).items()),
        mode_for_me=mode,
        path_hint=f"~/disks/{name}" if name else None,
        attached_to=tuple(found.id for found in holders(session, row.id) if found.owner == user),
        created_at=row.created_at,
    )


def home_of(ctx: Context, session: Session, user: str) -> Disk:
    """The home, listed beside the disks."""
    usage = session.get(HomeUsageRow, user)
    account = session.get(AccountRow, user)
    return Disk(
        id=HOME,
        name=HOME,
        owner=user,
        quota_bytes=ctx.deployment.disks.home_quota_bytes,
        used_bytes=usage.used_bytes if usage else None,
        mode_for_me=Mode.RW,
        path_hint="~",
        attached_to=tuple(row.id for row in workspaces.listed(session, user)),
        created_at=account.created_at if account else None,
    )


def tell(ctx: Context, session: Session, row: DiskRow, kind: str) -> None:
    """The disk as an event for everybody who may use it, as they see it."""
    for user in (row.owner, *members(session, row.id)):
        ctx.events.add(session, kind, shown(session, row, user).model_dump(mode="json"), owner=user)
