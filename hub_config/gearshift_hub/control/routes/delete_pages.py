"""The page that deletes a stopped workspace: what goes, what stays, and the press."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.pages import workspace_view
from gearshift_hub.control.pages.answers import PageRoute, known, press_plan
from gearshift_hub.control.pages.frame import render, voice
from gearshift_hub.control.services import plans, workspaces

router = APIRouter(route_class=PageRoute)


@router.get("/workspaces/{owner}/{name}/delete")
async def ask_to_delete(
    owner: str, name: str, request: Request, actor: Actor = Depends(may.page)
) -> Response:
    """What a deletion means, with the plan that the press confirms."""
    known(request, actor)
    ctx, v = context(request), voice(request)
    plan = await plans.issue(ctx, actor, {"kind": "delete_workspace", "workspace": f"{owner}/{name}"})
    with ctx.db.transaction() as session:
        shown = workspaces.shown(session, workspaces.get(session, owner, name))
    figures = plan.figures
    return render(
        request,
        "delete.html",
        actor=actor,
        here="home",
        row=workspace_view.row(ctx, shown, actor.name, v),
        plan=plan.id,
        kept=v.say("delete.kept", n=figures["states"], size=v.size(figures["state_bytes"]))
        if figures["states"]
        else None,
    )


@router.post("/workspaces/{owner}/{name}/delete")
async def delete(owner: str, name: str, request: Request, actor: Actor = Depends(may.page)) -> Response:
    """Confirm that plan; one that has become stale is shown anew."""
    known(request, actor)
    prefix = context(request).prefix
    page = f"{prefix}/workspaces/{owner}/{name}/delete"
    return await press_plan(request, actor, again=page, done=f"{prefix}/?stay")
