"""Routes of workspaces: list, show, and the ticket with which a page follows its events."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from gearshift.model.record import Instant, Record
from gearshift.model.workspace import Workspace

from gearshift_hub.control.auth import Actor, context, may, new_ticket
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import switch_times
from gearshift_hub.control.operations.switch_times import SwitchTime
from gearshift_hub.control.services import workspaces

router = APIRouter(tags=["workspaces"])


class TicketGiven(Record):
    """To be sent as `Authorization: Ticket ...` to `url`, never in an address."""

    ticket: str
    expires_at: Instant
    url: str


@router.get("/workspaces")
async def list_workspaces(
    owner: str | None = None, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> list[Workspace]:
    """One's own; an admin sees all, or those of `owner`."""
    if owner is not None:
        actor.check_owner(owner)
    whose = owner if actor.admin else actor.name
    with ctx.db.transaction() as session:
        return [workspaces.shown(session, row) for row in workspaces.listed(session, whose)]


@router.get("/workspaces/{owner}/{name}")
async def get_workspace(
    owner: str, name: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> Workspace:
    """One workspace."""
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        return workspaces.shown(session, workspaces.get(session, owner, name))


@router.get("/workspaces/{owner}/{name}/switch-times")
async def get_switch_times(
    owner: str, name: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> list[SwitchTime]:
    """What a switch to each machine would take now, and whether the kernels fit there."""
    return await switch_times.times(ctx, actor, owner, name)


@router.post("/workspaces/{owner}/{name}/ticket")
async def make_ticket(
    owner: str,
    name: str,
    request: Request,
    actor: Actor = Depends(may.read),
    ctx: Context = Depends(context),
) -> TicketGiven:
    """The read-only credential of a page, for the events of this workspace."""
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
    text, ticket = new_ticket(request, owner, row.id)
    return TicketGiven(ticket=text, expires_at=ticket.expires_at, url=f"{ctx.prefix}/api/v1/events")
