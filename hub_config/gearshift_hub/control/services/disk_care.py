"""Care for disks: measured and repaired every minute, told when they fill up, purged seven days after deletion."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from datetime import timedelta
from subprocess import CalledProcessError

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.units import format_bytes
from gearshift.model.workspace import WorkspaceState
from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from gearshift_hub.backends.local.disks import used_bytes
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.db.disks import DiskMemberRow, DiskRow, DiskState, HomeUsageRow
from gearshift_hub.control.services import disk_access, disk_plans, disk_records, workspaces

log = logging.getLogger("gearshift.control")

PERIOD_S = 60.0
WARN_PERCENT = 90
LONG_WALK_S = 3.0
RESTS_FOR = 20
UNDO = timedelta(days=disk_plans.UNDO_DAYS)


async def forever(ctx: Context) -> None:
    """The loop; a fault on one disk is logged and the others are cared for."""
    await finish_made(ctx)
    while True:
        await once(ctx)
        await ctx.clock.sleep(PERIOD_S)


async def once(ctx: Context) -> None:
    """One round over all disks, the homes in use, and the bin."""
    with ctx.db.transaction() as session:
        disks = list(session.scalars(select(DiskRow.id).where(DiskRow.state == DiskState.ACTIVE)))
        homes = _homes_in_use(session)
    for disk in disks:
        await _safely(f"disk {disk}", _unless_resting(ctx, disk))
    for user in homes:
        await _safely(f"home of {user}", measure_home(ctx, user))
    await _safely("bin", purge(ctx))


async def _unless_resting(ctx: Context, disk: str) -> None:
    """A disk so large that a walk takes long is walked less often: never more than a twentieth of the time."""
    resting, began = disk_access.gate(ctx).resting, ctx.clock.monotonic()
    if resting.get(disk, began) > began:
        return
    await measure(ctx, disk)
    took = ctx.clock.monotonic() - began
    resting[disk] = began + took * RESTS_FOR if took > LONG_WALK_S else began


async def measure(ctx: Context, disk: str) -> None:
    """Walk one disk: repair what lost its entries, write down what it takes up, tell when its level changes."""
    seen = await disk_access.apply(ctx, disk)
    if seen is None:
        return
    with ctx.db.transaction() as session:
        row = session.get(DiskRow, disk)
        if row is None:
            return
        changed = row.used_bytes != seen.used_bytes
        row.used_bytes, row.measured_at = seen.used_bytes, ctx.clock.now()
        if changed:
            _tell_usage(ctx, session, row)


async def measure_home(ctx: Context, user: str) -> None:
    with ctx.db.transaction() as session:
        account = session.get(AccountRow, user)
    folder = ctx.home.homes / account.slug if account else None
    if folder is None or not folder.is_dir():
        return
    used = await asyncio.to_thread(used_bytes, folder)
    quota = ctx.deployment.disks.home_quota_bytes
    with ctx.db.transaction() as session:
        row = session.get(HomeUsageRow, user)
        before = row.used_bytes if row else None
        session.merge(HomeUsageRow(user=user, used_bytes=used, measured_at=ctx.clock.now()))
        if before != used:
            data = {
                "id": disk_records.HOME,
                "name": disk_records.HOME,
                "used_bytes": used,
                "quota_bytes": quota,
            }
            ctx.events.add(session, "disk.usage", {**data, "level": level(used, quota)}, owner=user)


async def prepare(ctx: Context, owner: str, name: str) -> None:
    """Right before a launch: every disk is there and has room, links are in place."""
    with ctx.db.transaction() as session:
        mounts = workspaces.spec_of(workspaces.get(session, owner, name)).disks
        check_room(session, owner, [mount.disk for mount in mounts])
        rows = [disk_records.find(session, owner, mount.disk) for mount in mounts]
    for row in rows:
        if not disk_access.gate(ctx).disks.exists(row.id):
            raise fail("disk_missing", field="disks", value=row.name)
    disk_access.place_links(ctx, owner)


def check_room(session: Session, user: str, disks: list[str]) -> None:
    """Refuse a start with a disk that is over its quota; its owner is let in, who else could make room."""
    for key in disks:
        row = disk_records.find(session, user, key)
        if row.owner != user and level(row.used_bytes, row.quota_bytes) == "full":
            sizes = {"used": format_bytes(row.used_bytes or 0), "size": format_bytes(row.quota_bytes)}
            raise fail("disk_full", field="disks", value=row.name, disk=row.name, owner=row.owner, **sizes)


def level(used: int | None, quota: int) -> str:
    """`unknown`, `ok`, `warn` from 90 %, `full` from 100 %."""
    if used is None:
        return "unknown"
    if used >= quota:
        return "full"
    return "warn" if used * 100 >= quota * WARN_PERCENT else "ok"


async def purge(ctx: Context) -> None:
    """Delete for good what has been in the bin for seven days."""
    with ctx.db.transaction() as session:
        query = select(DiskRow.id).where(
            DiskRow.state == DiskState.BINNED, DiskRow.binned_at <= ctx.clock.now() - UNDO
        )
        due = list(session.scalars(query))
    for disk in due:
        await asyncio.to_thread(disk_access.gate(ctx).disks.purge, disk)
        with ctx.db.transaction() as session:
            session.execute(delete(DiskMemberRow).where(DiskMemberRow.disk == disk))
            session.execute(delete(DiskRow).where(DiskRow.id == disk))


async def finish(ctx: Context, disk: str) -> None:
    """Give a disk that is being made its folder; after a kill this is done again."""
    await disk_access.create(ctx, disk)
    with ctx.db.transaction() as session:
        row = session.get_one(DiskRow, disk)
        row.state = DiskState.ACTIVE
        row.used_bytes, row.measured_at = 0, ctx.clock.now()
        disk_records.tell(ctx, session, row, "disk.created")


async def finish_made(ctx: Context) -> None:
    """Disks whose making was cut short by a kill."""
    with ctx.db.transaction() as session:
        begun = list(session.scalars(select(DiskRow.id).where(DiskRow.state == DiskState.MAKING)))
    for disk in begun:
        await _safely(f"disk {disk}", finish(ctx, disk))


async def _safely(what: str, work: Awaitable[None]) -> None:
    """The edge of the loop: one fault is logged and the rest goes on."""
    try:
        await work
    except (OSError, GearshiftError, SQLAlchemyError, CalledProcessError):
        log.exception("care for %s", what)


def _homes_in_use(session: Session) -> list[str]:
    """People with something running, and those never measured."""
    rows = workspaces.listed(session, None)
    known = set(session.scalars(select(HomeUsageRow.user)))
    return sorted(
        {row.owner for row in rows if WorkspaceState(row.state).holds_machine or row.owner not in known}
    )


def _tell_usage(ctx: Context, session: Session, row: DiskRow) -> None:
    data = {
        "id": row.id,
        "name": row.name,
        "used_bytes": row.used_bytes,
        "quota_bytes": row.quota_bytes,
        "level": level(row.used_bytes, row.quota_bytes),
    }
    for user in (row.owner, *disk_records.members(session, row.id)):
        ctx.events.add(session, "disk.usage", data, owner=user)
