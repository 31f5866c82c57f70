"""Disks: made, shared, attached and taken back; whoever may do what is decided here."""

from __future__ import annotations

import os
import secrets
from typing import Literal

from gearshift.model.disk import Disk, Mode
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.record import Record
from gearshift.model.slug import check_workspace_name
from gearshift.model.units import format_bytes
from gearshift.model.workspace import DiskMount, WorkspaceState
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.db.disks import DiskMemberRow, DiskRow, DiskState
from gearshift_hub.control.services import disk_access, disk_care, disk_plans, disk_records, workspaces
from gearshift_hub.control.services.disk_access import DiskGate

MOST_MEMBERS = 400


class Attached(Record):
    """A disk as a workspace is to have it, and from when on."""

    disk: str
    mode: Mode | None
    takes_effect: Literal["next_start"] = "next_start"


def plug(ctx: Context) -> None:
    """Register plan kinds, hooks and the loop that measures."""
    ctx.backend.parts.put(DiskGate, disk_access.make_gate(ctx))
    ctx.hooks.memberships.append(disk_records.memberships)
    ctx.hooks.known_disks.append(disk_records.known)
    ctx.hooks.mounts.append(lambda session, owner, name: disk_access.hold(ctx, session, owner, name))
    ctx.hooks.before_launch.append(lambda owner, name, _person: disk_care.prepare(ctx, owner, name))
    ctx.hooks.account_deleted.append(lambda user: disk_plans.forget_person(ctx, user))
    ctx.hooks.loops["disks"] = lambda: disk_care.forever(ctx)
    disk_plans.register(ctx)


def listed(ctx: Context, user: str) -> list[Disk]:
    """The home, own disks and those shared with this person."""
    with ctx.db.transaction() as session:
        rows = disk_records.usable(session, user)
        return [
            disk_records.home_of(ctx, session, user),
            *(disk_records.shown(session, row, user) for row in rows),
        ]


def one(ctx: Context, actor: Actor, key: str) -> Disk:
    with ctx.db.transaction() as session:
        if key == disk_records.HOME:
            return disk_records.home_of(ctx, session, actor.name)
        return disk_records.shown(session, _visible(session, actor, key), actor.name)


async def create(ctx: Context, actor: Actor, name: str, quota_bytes: int | None) -> Disk:
    """A new disk of one's own: the row first, then the folder; a failure leaves neither."""
    quota = _quota(ctx, quota_bytes)
    row = DiskRow(
        id=f"d-{secrets.token_hex(8)}",
        name=_name(name),
        owner=actor.name,
        quota_bytes=quota,
        state=DiskState.MAKING,
        created_at=ctx.clock.now(),
    )
    with ctx.db.transaction() as session:
        _check_new(session, actor.name, row.name)
        session.add(row)
    try:
        await disk_care.finish(ctx, row.id)
    except OSError as error:
        with ctx.db.transaction() as session:
            session.delete(session.get_one(DiskRow, row.id))
        raise _no_room(ctx, row.id, error) from error
    return one(ctx, actor, row.id)


async def share(ctx: Context, actor: Actor, key: str, user: str, mode: Mode) -> Disk:
    """Let somebody use the disk, or change how they may; in force everywhere on it when this returns."""
    with ctx.db.transaction() as session:
        row = _owned(session, actor, key)
        _check_sharing(ctx, session, row, user)
        disk = row.id
        member = session.get(DiskMemberRow, (disk, user))
        if member is None:
            _check_room_for_one(session, disk)
            session.add(DiskMemberRow(disk=disk, user=user, mode=mode, since=ctx.clock.now()))
        else:
            member.mode = mode
        session.flush()
        disk_records.tell(ctx, session, row, "disk.changed")
    await disk_access.apply(ctx, disk)
    return one(ctx, actor, disk)


def resize(ctx: Context, actor: Actor, key: str, quota_bytes: int) -> Disk:
    """Another quota; free, and the only thing that helps when a disk is full."""
    quota = _quota(ctx, quota_bytes)
    with ctx.db.transaction() as session:
        row = _owned(session, actor, key)
        row.quota_bytes = quota
        disk_records.tell(ctx, session, row, "disk.changed")
    return one(ctx, actor, row.id)


def attach(ctx: Context, actor: Actor, workspace: str, key: str, mode: Mode | None) -> Attached:
    """Give a workspace this disk from its next start on; doing it again changes only the mode."""
    owner, name = workspaces.parse_id(workspace)
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        disk = disk_records.find(session, owner, key)
        have = disk_records.mode_of(session, disk, owner)
        assert have is not None  # `find` looks among the person's own
        wanted = mode or have
        if not have.allows(wanted):
            raise fail(
                "disk_readonly", field="mode", value=wanted, allowed=[have], disk=disk.name, owner=disk.owner
            )
        others = disk_plans.mounts_without(row, disk)
        disk_plans.set_mounts(ctx, session, row, (*others, DiskMount(disk=disk.id, mode=wanted)))
        return Attached(disk=disk.id, mode=wanted)


def detach(ctx: Context, actor: Actor, workspace: str, key: str) -> Attached:
    """Leave the disk out from the next start on; leaving out what is not there is success."""
    owner, name = workspaces.parse_id(workspace)
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        disk = disk_records.find(session, owner, key)
        disk_plans.set_mounts(ctx, session, row, disk_plans.mounts_without(row, disk))
        if not WorkspaceState(row.state).holds_machine:
            disk_access.forget(session, owner, name)
    disk_access.place_links(ctx, owner)
    return Attached(disk=disk.id, mode=None)


async def take_back(ctx: Context, actor: Actor, disk: str) -> Disk:
    """Undo a deletion within seven days."""
    with ctx.db.transaction() as session:
        row = session.get(DiskRow, disk)
        if row is None or row.owner != actor.name or row.state != DiskState.BINNED:
            raise fail("unknown_disk", field="disk", value=disk, allowed=_binned(session, actor.name))
        _check_new(session, row.owner, row.name)
        disk_access.gate(ctx).disks.take_back(disk)
        row.state, row.binned_at = DiskState.ACTIVE, None
        disk_records.tell(ctx, session, row, "disk.created")
    await disk_access.apply(ctx, disk)
    return one(ctx, actor, disk)


def _visible(session: Session, actor: Actor, key: str) -> DiskRow:
    """One's own or shared disk; an admin sees every one by its id."""
    if actor.admin:
        row = session.get(DiskRow, key)
        if row is not None and row.state == DiskState.ACTIVE:
            return row
    return disk_records.find(session, actor.name, key)


def _owned(session: Session, actor: Actor, key: str) -> DiskRow:
    row = _visible(session, actor, key)
    if row.owner != actor.name and not actor.admin:
        raise fail("forbidden", field="disk", value=row.name, role="the owner", role_zh="所有者")
    return row


def _name(name: str) -> str:
    check_workspace_name(name)
    if name == disk_records.HOME:
        raise fail("disk_exists", field="name", value=name)
    return name


def _check_new(session: Session, owner: str, name: str) -> None:
    query = select(DiskRow.id).where(
        DiskRow.owner == owner, DiskRow.name == name, DiskRow.state != DiskState.BINNED
    )
    if session.scalar(query):
        raise fail("disk_exists", field="name", value=name)


def _quota(ctx: Context, quota_bytes: int | None) -> int:
    limits = ctx.deployment.disks
    if quota_bytes is None:
        return limits.default_quota_bytes
    if quota_bytes <= 0:
        raise fail(
            "bad_request", field="quota_bytes", value=quota_bytes, allowed=["> 0"], problem="too small"
        )
    if quota_bytes > limits.max_quota_bytes:
        sizes = {"size": format_bytes(quota_bytes), "limit": format_bytes(limits.max_quota_bytes)}
        raise fail(
            "too_large", field="quota_bytes", value=quota_bytes, allowed=[limits.max_quota_bytes], **sizes
        )
    return quota_bytes


def _check_sharing(ctx: Context, session: Session, row: DiskRow, user: str) -> None:
    account = session.get(AccountRow, user)
    if account is None or account.deleted_at is not None:
        raise fail("unknown_user", field="user", value=user)
    if user == row.owner:
        problem = "the owner always reads and writes"
        raise fail("bad_request", field="user", value=user, allowed=["somebody else"], problem=problem)
    if not disk_access.gate(ctx).can_share:
        problem = "the file system below the disks keeps no access lists"
        raise fail("bad_request", field="user", value=user, allowed=[], problem=problem)


def _check_room_for_one(session: Session, disk: str) -> None:
    """An access list holds about five hundred entries (facts-box 8)."""
    used = len(disk_records.members(session, disk))
    if used >= MOST_MEMBERS:
        raise fail(
            "limit_reached",
            field="user",
            used=used,
            limit=MOST_MEMBERS,
            what="members of a disk",
            what_zh="磁盘成员",
        )


def _binned(session: Session, owner: str) -> list[str]:
    query = select(DiskRow.id).where(DiskRow.owner == owner, DiskRow.state == DiskState.BINNED)
    return list(session.scalars(query))


def _no_room(ctx: Context, disk: str, error: OSError) -> GearshiftError:
    room = os.statvfs(ctx.home.disks)
    used, size = room.f_blocks - room.f_bavail, room.f_blocks
    facts = {"used": format_bytes(used * room.f_frsize), "size": format_bytes(size * room.f_frsize)}
    return fail(
        "disk_full",
        value=disk,
        disk="of this deployment",
        disk_zh="（本部署）",
        cause=error.strerror,
        **facts,
    )
