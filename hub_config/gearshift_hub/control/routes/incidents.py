"""Routes of what is told of a workspace: its own server reports memory and kernels that ended, its owner reads it all."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from gearshift.model.errors import fail

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import incidents, workspaces
from gearshift_hub.control.services.incidents import Incident, Notice

router = APIRouter(tags=["notices"], prefix="/workspaces/{owner}/{name}")


@router.get("/notices")
async def list_notices(
    owner: str, name: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> list[Notice]:
    """What was told in the last seven days, the newest first: memory, idle time, machines that were held."""
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        return incidents.listed(session, workspaces.get(session, owner, name).id)


@router.post("/incidents", status_code=204)
async def report_incident(
    owner: str,
    name: str,
    incident: Incident,
    actor: Actor = Depends(may.propose),
    ctx: Context = Depends(context),
) -> None:
    """The workspace's own server tells what happened to a kernel; the same event twice is one."""
    if actor.workspace != f"{owner}/{name}":
        raise fail("forbidden", role="the workspace's own server", role_zh="工作区自己的服务器")
    with ctx.db.transaction() as session:
        incidents.tell(ctx, session, workspaces.get(session, owner, name), incident)
