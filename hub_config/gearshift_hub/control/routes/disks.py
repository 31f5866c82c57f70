"""Routes of disks: list, make, share, resize, attach, detach; what takes away goes through plans."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from gearshift.model.disk import Disk, Mode
from gearshift.model.record import Input

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import disks
from gearshift_hub.control.services.disks import Attached

router = APIRouter(tags=["disks"])


class NewDisk(Input):
    """A disk to be made; without a quota it gets the deployment's."""

    name: str
    quota_bytes: int | None = None


class Quota(Input):
    """Another size."""

    quota_bytes: int


class Sharing(Input):
    """How somebody may use it."""

    mode: Mode


class Attach(Input):
    """A disk by id or name; without a mode as much as the person may."""

    disk: str
    mode: Mode | None = None


@router.get("/disks")
async def list_disks(actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> list[Disk]:
    """The home, the caller's own disks and those shared with them."""
    return disks.listed(ctx, actor.name)


@router.post("/disks", status_code=201)
async def create_disk(
    asked: NewDisk, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Disk:
    """Make a disk of one's own."""
    return await disks.create(ctx, actor, asked.name, asked.quota_bytes)


@router.get("/disks/{disk}")
async def get_disk(disk: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> Disk:
    """One disk by id or name."""
    return disks.one(ctx, actor, disk)


@router.patch("/disks/{disk}")
async def resize_disk(
    disk: str, asked: Quota, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Disk:
    """Change the quota; only the owner may."""
    return disks.resize(ctx, actor, disk, asked.quota_bytes)


@router.put("/disks/{disk}/members/{user}")
async def share_disk(
    disk: str, user: str, asked: Sharing, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Disk:
    """Share with somebody, or change how they may use it; in force when this is answered."""
    return await disks.share(ctx, actor, disk, user, asked.mode)


@router.post("/disks/{disk}/restore")
async def restore_disk(
    disk: str, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Disk:
    """Take a deleted disk back out of the bin."""
    return await disks.take_back(ctx, actor, disk)


@router.post("/workspaces/{owner}/{name}/disks")
async def attach_disk(
    owner: str, name: str, asked: Attach, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Attached:
    """Attach from the next start on."""
    return disks.attach(ctx, actor, f"{owner}/{name}", asked.disk, asked.mode)


@router.delete("/workspaces/{owner}/{name}/disks/{disk}")
async def detach_disk(
    owner: str, name: str, disk: str, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Attached:
    """Leave it out from the next start on."""
    return disks.detach(ctx, actor, f"{owner}/{name}", disk)
