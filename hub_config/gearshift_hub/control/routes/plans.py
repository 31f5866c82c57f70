"""Routes of plans and operations: ask for a plan, confirm it once, follow and cancel what came of it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Body, Depends, Request
from gearshift.model.operation import Operation

from gearshift_hub.control.auth import Actor, context, may, was_pressed
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import journal
from gearshift_hub.control.services import plans, workspaces
from gearshift_hub.control.services.plans import Confirmation, Plan

router = APIRouter(tags=["plans"])


@router.post("/plans", status_code=201)
async def propose(
    asked: dict[str, Any] = Body(), actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Plan:
    """A plan with its figures, valid for two minutes; nothing happens yet."""
    return await plans.issue(ctx, actor, asked)


@router.post("/plans/{plan}/confirm", status_code=202)
async def confirm(
    plan: str,
    said: Confirmation,
    request: Request,
    actor: Actor = Depends(may.propose),
    ctx: Context = Depends(context),
) -> dict[str, Any]:
    """Carry it out, once; the answer is the operation or job that came of it."""
    done = await plans.confirm(ctx, actor, plan, said, pressed=await was_pressed(request, actor))
    return done.model_dump(mode="json")


@router.get("/operations")
async def list_operations(
    workspace: str | None = None,
    limit: int = 20,
    actor: Actor = Depends(may.read),
    ctx: Context = Depends(context),
) -> list[Operation]:
    """The newest first, of one workspace or of all one's own."""
    if workspace is not None:
        actor.check_owner(workspaces.parse_id(workspace)[0])
    owner = None if workspace is not None else actor.name
    with ctx.db.transaction() as session:
        return journal.listed(session, workspace, owner, min(max(limit, 1), 200))


@router.get("/operations/{operation}")
async def get_operation(
    operation: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> Operation:
    """Its journal."""
    return _own(ctx, actor, operation)


@router.post("/operations/{operation}/cancel", status_code=202)
async def cancel_operation(
    operation: str, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Operation:
    """Go back while that is possible."""
    _own(ctx, actor, operation)
    return await ctx.operations.cancel(operation, by=actor.name)


def _own(ctx: Context, actor: Actor, operation: str) -> Operation:
    with ctx.db.transaction() as session:
        op = journal.load(session, operation).op
    actor.check_owner(op.owner)
    return op
