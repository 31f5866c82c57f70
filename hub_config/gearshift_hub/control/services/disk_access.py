"""What membership means on the box: the gate at a disk's root, the sweep below it, and the links in a home.

The database says who may; these functions make it so. They read it again each time, under a lock per disk, so that of
two changes at once the later one holds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from gearshift.model.launch import Mount
from gearshift.model.workspace import Mode
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from gearshift_hub.backends.local import acl, home_links
from gearshift_hub.backends.local.disks import Holders, LocalDisks, Tended
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.db.disks import DiskHoldRow, DiskRow
from gearshift_hub.control.services import disk_records, workspaces

log = logging.getLogger("gearshift.control")


class DiskGate:
    """The disks of this box, and a lock for each."""

    WORDS = ("Disks", "磁盘")

    def __init__(self, disks: LocalDisks) -> None:
        self.disks = disks
        self.locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.resting: dict[str, float] = {}
        """Disks whose last walk took long, and when (by the steady clock) the next one is due."""
        self.can_share = disks.people is None or acl.supported(str(disks.folder))


def gate(ctx: Context) -> DiskGate:
    return ctx.backend.parts.get(DiskGate)


def make_gate(ctx: Context) -> DiskGate:
    """The gate of this deployment: uids of people where the box has them, plain folders where it has not."""
    people = ctx.deployment.people
    uids = range(people.uid_from, people.uid_to + 1) if ctx.backend.box.able().uid_per_person else None
    ctx.home.disks.mkdir(mode=0o711, parents=True, exist_ok=True)
    return DiskGate(LocalDisks(ctx.home.disks, uids))


def holders_of(session: Session, row: DiskRow) -> Holders:
    """Owner and members as the box knows them."""

    def uid(name: str) -> int:
        account = session.get(AccountRow, name)
        assert account is not None  # a foreign key says so
        return account.uid

    found = disk_records.members(session, row.id)
    return Holders(
        uid(row.owner), {uid(name): "rw" if mode is Mode.RW else "ro" for name, mode in found.items()}
    )


async def create(ctx: Context, disk: str) -> None:
    """Make the folder of a disk that has a row."""
    with ctx.db.transaction() as session:
        row = session.get(DiskRow, disk)
        assert row is not None
        wanted = holders_of(session, row)
    await asyncio.to_thread(gate(ctx).disks.create, disk, wanted)


async def apply(ctx: Context, disk: str) -> Tended | None:
    """Make the gate and everything below it what the database says; None when the disk is gone meanwhile."""
    async with gate(ctx).locks[disk]:
        with ctx.db.transaction() as session:
            row = session.get(DiskRow, disk)
            if row is None:
                return None
            wanted = holders_of(session, row)
        return await asyncio.to_thread(_apply, gate(ctx).disks, disk, wanted)


def _apply(disks: LocalDisks, disk: str, wanted: Holders) -> Tended | None:
    if not disks.exists(disk):
        return None
    disks.admit(disk, wanted)
    return disks.tend(disk, wanted)


def hold(ctx: Context, session: Session, owner: str, name: str) -> list[Mount]:
    """What the next launch of this workspace is given; recorded, so that we know what its processes have."""
    row = workspaces.get(session, owner, name)
    forget(session, owner, name)
    mounts = []
    for wanted in workspaces.spec_of(row).disks:
        disk = disk_records.find(session, owner, wanted.disk)
        have = disk_records.mode_of(session, disk, owner)
        mode = Mode.RW if have is Mode.RW and wanted.mode is Mode.RW else Mode.RO
        session.add(DiskHoldRow(owner=owner, workspace=name, disk=disk.id, mode=mode))
        path = str(gate(ctx).disks.path(disk.id))
        mounts.append(Mount(source=path, target=path, read_only=mode is Mode.RO))
    session.flush()
    return mounts


def forget(session: Session, owner: str, name: str) -> None:
    """Nothing of this workspace runs with these disks any more."""
    session.execute(delete(DiskHoldRow).where(DiskHoldRow.owner == owner, DiskHoldRow.workspace == name))
    session.flush()


def place_links(ctx: Context, user: str) -> None:
    """Make `~/disks` hold a link for each disk that a workspace of this person was launched with."""
    with ctx.db.transaction() as session:
        held = set(session.scalars(select(DiskHoldRow.disk).where(DiskHoldRow.owner == user)))
        mine = disk_records.usable(session, user)
    names = disk_records.link_names(mine, user)
    wanted = {names[row.id]: gate(ctx).disks.path(row.id) for row in mine if row.id in held}
    put_links(ctx, user, "disks", wanted, ctx.home.disks)


def put_links(ctx: Context, user: str, folder: str, wanted: Mapping[str, Path], ours: Path) -> None:
    """Links into a home. What the person has put in the way stays and is told; a home not yet made is passed over."""
    with ctx.db.transaction() as session:
        account = session.get(AccountRow, user)
    if account is None or not (home := ctx.home.homes / account.slug).is_dir():
        return
    if not wanted and not (home / folder).is_dir():
        return
    try:
        placed = home_links.place(home, folder, wanted, ours, account.uid, account.uid)
    except OSError as error:
        log.warning("no links in %s of %s: %s", folder, user, error)
        return
    if placed.blocked:
        with ctx.db.transaction() as session:
            data = {"code": "links_blocked", "folder": folder, "names": list(placed.blocked)}
            ctx.events.add(session, "notice", data, owner=user)
