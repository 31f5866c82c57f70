"""Routes of the waitlist: how waiting would be, joining to be asked, what one waits for, holding longer, taking it back.

What happens by itself is agreed to in a plan of kind `wait`.
"""

from __future__ import annotations

from fastapi import APIRouter, Depends
from gearshift.model.waitlist import Wait

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import waitlist
from gearshift_hub.control.operations.waitlist import Joining, Outlook

router = APIRouter(tags=["waitlist"], prefix="/waitlist")


@router.get("")
async def list_waits(actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> list[Wait]:
    """The caller's own that are under way, and those that ended within a day, newest first."""
    return waitlist.listed(ctx, actor)


@router.get("/outlook")
async def outlook(machine: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> Outlook:
    """Place in line and expected turn of somebody who joins now."""
    return waitlist.outlook(ctx, actor, machine)


@router.post("", status_code=201)
async def join(
    joining: Joining, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Wait:
    """Wait to be asked: free, the machine is then held for some minutes, nothing starts without a press."""
    return waitlist.join(ctx, actor, joining)


@router.get("/{wait}")
async def show_wait(wait: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> Wait:
    """One, with its place in line or until when the machine is held."""
    return waitlist.one(ctx, actor, wait)


@router.post("/{wait}/keep")
async def keep(wait: str, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)) -> Wait:
    """Hold the machine as long again, where nobody else waits for its room."""
    return waitlist.keep(ctx, actor, wait)


@router.delete("/{wait}")
async def withdraw(wait: str, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)) -> Wait:
    """Out of the line, and back what was agreed to; a machine that is held goes to the next."""
    return waitlist.withdraw(ctx, actor, wait)
