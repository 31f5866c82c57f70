"""Routes of the idle rule: what holds for a workspace, the owner's choice, keeping it longer, and the end of work."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Depends
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import idle, workspaces
from gearshift_hub.control.services.idle import Choice, End, Keep, Shown

router = APIRouter(tags=["idle"], prefix="/workspaces/{owner}/{name}/idle")


@router.get("")
async def get_idle(
    owner: str, name: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> Shown:
    """What it is busy with, what happens when it is idle, and when."""
    return _with(ctx, actor, owner, name, lambda session, row: idle.shown(ctx, session, row))


@router.put("")
async def choose(
    owner: str,
    name: str,
    choice: Choice,
    actor: Actor = Depends(may.propose),
    ctx: Context = Depends(context),
) -> Shown:
    """The owner's own action and hours, within the bounds of the deployment."""
    return _with(ctx, actor, owner, name, lambda session, row: idle.choose(ctx, session, row, choice))


@router.delete("")
async def choose_nothing(
    owner: str, name: str, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Shown:
    """Back to the deployment's own."""
    return _with(ctx, actor, owner, name, lambda session, row: idle.choose(ctx, session, row, None))


@router.post("/keep")
async def keep(
    owner: str,
    name: str,
    asked: Keep,
    actor: Actor = Depends(may.propose),
    ctx: Context = Depends(context),
) -> Shown:
    """Keep it so many hours longer than it would be."""
    return _with(ctx, actor, owner, name, lambda session, row: idle.keep(ctx, session, row, asked.hours))


@router.put("/end")
async def set_end(
    owner: str,
    name: str,
    asked: End,
    actor: Actor = Depends(may.propose),
    ctx: Context = Depends(context),
) -> Shown:
    """Once: what happens when the work that runs has ended, or at an instant; asked again it moves, `keep` ends it."""
    return _with(ctx, actor, owner, name, lambda session, row: idle.set_end(ctx, session, row, asked))


def _with(
    ctx: Context, actor: Actor, owner: str, name: str, do: Callable[[Session, WorkspaceRow], Shown]
) -> Shown:
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        return do(session, workspaces.get(session, owner, name))
