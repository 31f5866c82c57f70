"""What takes a disk away from somebody: deleting it and removing a member; proposed with its figures, then done in steps.

`delete_disk {disk}`          detach: no workspace wants it any more · bin: out of reach, seven days to undo
`remove_member {disk, user}`  revoke: the gate closes at once, then all below it · stop: their workspaces that hold it
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.operation import Operation, OperationKind
from gearshift.model.workspace import DiskMount
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.disks import DiskMemberRow, DiskRow, DiskState
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import disk_access, disk_records, plans, workspaces
from gearshift_hub.control.services.plans import Plan
from gearshift_hub.control.steps import Flow, Run, StepWork

UNDO_DAYS = 7
LONG_S = 600.0
"""A sweep over a large disk."""


def register(ctx: Context) -> None:
    """The two kinds of plan, and how their operations go."""
    plans.register(
        ctx, "delete_disk", propose=_propose_delete, perform=_perform_delete, moving=("used_bytes",)
    )
    plans.register(ctx, "remove_member", propose=_propose_remove, perform=_perform_remove)
    steps = _Steps(ctx)
    ctx.flows[OperationKind.DELETE_DISK] = Flow(
        steps={"detach": StepWork(steps.detach), "bin": StepWork(steps.bin, seconds=lambda _run: LONG_S)}
    )
    ctx.flows[OperationKind.REMOVE_MEMBER] = Flow(
        steps={
            "revoke": StepWork(steps.revoke, seconds=lambda _run: LONG_S),
            "stop": StepWork(steps.stop, seconds=lambda _run: LONG_S),
        }
    )


def mounts_without(row: WorkspaceRow, disk: DiskRow) -> tuple[DiskMount, ...]:
    return tuple(mount for mount in workspaces.spec_of(row).disks if mount.disk not in (disk.id, disk.name))


def set_mounts(ctx: Context, session: Session, row: WorkspaceRow, mounts: tuple[DiskMount, ...]) -> None:
    """Change what a workspace is to have from its next start on, and tell it."""
    spec = workspaces.spec_of(row)
    if spec.disks != mounts:
        workspaces.set_spec(session, row, spec.model_copy(update={"disks": mounts}))
        workspaces.tell(ctx, session, row)


async def forget_person(ctx: Context, user: str) -> None:
    """A deleted account: its disks go to the bin, its memberships end."""
    with ctx.db.transaction() as session:
        theirs = [row.id for row in disk_records.usable(session, user) if row.owner == user]
        shared = [row.id for row in disk_records.usable(session, user) if row.owner != user]
        session.execute(delete(DiskMemberRow).where(DiskMemberRow.user == user))
    for disk in shared:
        await disk_access.apply(ctx, disk)
    steps = _Steps(ctx)
    for disk in theirs:
        steps.leave_all(disk)
        await steps.put_in_bin(disk)


async def _propose_delete(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    with ctx.db.transaction() as session:
        row = _owned(session, actor, body.get("disk"))
        holding = disk_records.holders(session, row.id)
        if holding:
            users = [found.id for found in holding]
            raise fail("disk_in_use", field="disk", value=row.name, users=users, workspaces=users)
        return {
            "disk": row.id,
            "name": row.name,
            "used_bytes": row.used_bytes,
            "members": sorted(disk_records.members(session, row.id)),
            "workspaces": [found.id for found in disk_records.wanting(session, row)],
            "undo_days": UNDO_DAYS,
            "price_per_hour_nano": 0,
            "max_cost_nano": 0,
        }


async def _perform_delete(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    params = {"disk": plan.figures["disk"]}
    owner = _owner(ctx, plan.figures["disk"])
    return await ctx.operations.submit(
        OperationKind.DELETE_DISK, owner, None, actor=actor.name, params=params
    )


async def _propose_remove(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    with ctx.db.transaction() as session:
        user = body.get("user")
        leaving = user == actor.name  # everybody may leave a disk that was shared with them
        row = (
            disk_records.find(session, actor.name, str(body.get("disk")))
            if leaving
            else _owned(session, actor, body.get("disk"))
        )
        found = disk_records.members(session, row.id)
        if not isinstance(user, str) or user not in found:
            raise fail("unknown_user", field="user", value=user, allowed=sorted(found))
        holding = disk_records.holders(session, row.id)
        return {
            "disk": row.id,
            "name": row.name,
            "user": user,
            "mode": found[user].value,
            "stops": [held.id for held in holding if held.owner == user],
            "price_per_hour_nano": 0,
            "max_cost_nano": 0,
        }


async def _perform_remove(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    params = {"disk": plan.figures["disk"], "user": plan.figures["user"]}
    owner = _owner(ctx, plan.figures["disk"])
    return await ctx.operations.submit(
        OperationKind.REMOVE_MEMBER, owner, None, actor=actor.name, params=params
    )


class _Steps:
    """The steps of both operations; each can be done again."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def detach(self, run: Run) -> dict[str, Any]:
        """No workspace is to have it; one that was started with it meanwhile ends the operation."""
        disk = str(run.params["disk"])
        with self._ctx.db.transaction() as session:
            holding = [found.id for found in disk_records.holders(session, disk)]
        if holding:
            raise fail("disk_in_use", field="disk", value=disk, users=holding, workspaces=holding)
        return {"workspaces": self.leave_all(disk)}

    async def bin(self, run: Run) -> dict[str, Any]:
        await self.put_in_bin(str(run.params["disk"]))
        return {"result": {"disk": run.params["disk"], "undo_days": UNDO_DAYS}}

    async def revoke(self, run: Run) -> dict[str, Any]:
        """The gate closes with the row; the sweep takes the entries below, and open files go with `stop`."""
        disk, user = str(run.params["disk"]), str(run.params["user"])
        with self._ctx.db.transaction() as session:
            row = session.get_one(DiskRow, disk)
            holding = [found.id for found in disk_records.holders(session, disk) if found.owner == user]
            if "holding" not in run.data:
                run.record(session, holding=holding)
            self._leave(session, row, user)
            session.execute(
                delete(DiskMemberRow).where(DiskMemberRow.disk == disk, DiskMemberRow.user == user)
            )
            self._tell_removed(session, row, user)
        swept = await disk_access.apply(self._ctx, disk)
        disk_access.place_links(self._ctx, user)
        return {"repaired": swept.repaired if swept else 0}

    async def stop(self, run: Run) -> dict[str, Any]:
        """Stop the person's workspaces that had it: what they hold open ends with them."""
        ended = []
        for workspace in run.data.get("holding", []):
            owner, name = workspaces.parse_id(workspace)
            stop = await self._ctx.operations.submit(
                OperationKind.STOP, owner, name, actor=run.actor, params={"reason": "disk_removed"}
            )
            await self._ctx.operations.wait(stop.id)
            ended.append(workspace)
        return {"result": {"stopped": ended}}

    def leave_all(self, disk: str) -> list[str]:
        """Take the disk out of every spec that names it."""
        with self._ctx.db.transaction() as session:
            row = session.get_one(DiskRow, disk)
            found = disk_records.wanting(session, row)
            for workspace in found:
                set_mounts(self._ctx, session, workspace, mounts_without(workspace, row))
            return [workspace.id for workspace in found]

    async def put_in_bin(self, disk: str) -> None:
        with self._ctx.db.transaction() as session:
            row = session.get_one(DiskRow, disk)
            people = [row.owner, *disk_records.members(session, disk)]
            if row.state != DiskState.BINNED:
                row.state, row.binned_at = DiskState.BINNED, self._ctx.clock.now()
                for user in people:
                    data = {"id": disk, "name": row.name}
                    self._ctx.events.add(session, "disk.deleted", data, owner=user)
        await asyncio.to_thread(disk_access.gate(self._ctx).disks.bin, disk)
        for user in people:
            disk_access.place_links(self._ctx, user)

    def _leave(self, session: Session, row: DiskRow, user: str) -> None:
        for workspace in disk_records.wanting(session, row):
            if workspace.owner == user:
                set_mounts(self._ctx, session, workspace, mounts_without(workspace, row))

    def _tell_removed(self, session: Session, row: DiskRow, user: str) -> None:
        data = {"id": row.id, "name": row.name, "user": user}
        for person in {row.owner, user, *disk_records.members(session, row.id)}:
            self._ctx.events.add(session, "disk.member_removed", data, owner=person)


def _owned(session: Session, actor: Actor, key: object) -> DiskRow:
    if not isinstance(key, str):
        raise fail("unknown_disk", field="disk", value=key, allowed=[])
    row = session.get(DiskRow, key) if actor.admin else None
    row = (
        row
        if row is not None and row.state == DiskState.ACTIVE
        else disk_records.find(session, actor.name, key)
    )
    if row.owner != actor.name and not actor.admin:
        raise fail("forbidden", field="disk", value=row.name, role="the owner", role_zh="所有者")
    return row


def _owner(ctx: Context, disk: str) -> str:
    with ctx.db.transaction() as session:
        owner = session.scalar(select(DiskRow.owner).where(DiskRow.id == disk))
    assert owner is not None
    return owner
