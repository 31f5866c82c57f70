"""The pages that control draws: home, start form, starting, stop; each works without script."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.operation import Operation, OperationKind
from gearshift.model.workspace import Workspace, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.operations import journal, waitlist
from gearshift_hub.control.pages import (
    start_pages,
    start_view,
    state_view,
    static_files,
    wait_view,
    workspace_view,
)
from gearshift_hub.control.pages.answers import PageRoute, known, press_plan, sent
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.pages.frame import render, stream, voice
from gearshift_hub.control.return_paths import own_path
from gearshift_hub.control.routes import delete_pages, disk_pages, wait_pages
from gearshift_hub.control.services import ledger, plans, workspaces

router = APIRouter(tags=["pages"], route_class=PageRoute, include_in_schema=False)

FOREVER = "public, max-age=31536000, immutable"


@router.get("/static/{version}/{name}", dependencies=[Depends(may.anyone)])
@router.get("/static/{name}", dependencies=[Depends(may.anyone)])
async def static_file(name: str, version: str = "") -> Response:
    """A file of the pages; one asked for by its version may be kept for good."""
    path = static_files.files().get(name)
    if path is None:
        raise fail("not_found", value=name)
    keep = FOREVER if version == static_files.version() else "public, max-age=60"
    headers = {"Cache-Control": keep, "X-Content-Type-Options": "nosniff"}
    return FileResponse(path, media_type=static_files.TYPES[path.suffix], headers=headers)


@router.get("/")
async def home(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """The person's workspaces; without any, the form that starts the first one."""
    known(request, actor)
    ctx, v = context(request), voice(request)
    followed = stream(ctx)
    with ctx.db.transaction() as session:
        found = [workspaces.shown(session, row) for row in workspaces.listed(session, actor.name)]
        balance = ledger.balance(session, actor.name, ctx.clock.now())
    waits = wait_view.rows(ctx, waitlist.listed(ctx, actor), v)
    if not found and not waits and "stay" not in request.query_params:
        return RedirectResponse(f"{ctx.prefix}/start", status_code=303)
    return render(
        request,
        "home.html",
        actor=actor,
        here="home",
        rows=[workspace_view.row(ctx, one, actor.name, v) for one in found],
        waits=waits,
        balance=v.money(balance),
        page_data=followed,
    )


@router.get("/start")
async def start_form(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """The form; a query string may fill it, nothing starts by it."""
    known(request, actor)
    ctx = context(request)
    with ctx.db.transaction() as session:
        choice = start_pages.asked(ctx, session, actor, start_view.read(request.query_params))
    return start_pages.form(request, actor, choice)


@router.post("/start")
async def start(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """The press on Start."""
    known(request, actor)
    return await start_pages.press(request, actor, start_view.read(await sent(request)))


@router.post("/workspaces/{owner}/{name}/start")
async def start_as_it_was(
    owner: str, name: str, request: Request, actor: Actor = Depends(may.page)
) -> Response:
    """The same workspace with the same choices, and its kernels unless it is to be fresh; only its owner starts it."""
    known(request, actor)
    ctx, state = context(request), str((await sent(request)).get("state", ""))
    if actor.name != owner:
        raise fail("forbidden", role="the owner", role_zh="所有者")
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        choice = start_view.of_spec(name, workspaces.spec_of(row), editing=name, state=state)
    return await start_pages.begin(request, actor, choice)


@router.get("/workspaces/{owner}/{name}")
async def workspace(owner: str, name: str, request: Request, actor: Actor = Depends(may.page)) -> Response:
    """What a workspace is doing; once it runs, the way leads into it."""
    known(request, actor)
    actor.check_owner(owner)
    ctx, v = context(request), voice(request)
    followed = stream(ctx, f"{owner}/{name}")
    with ctx.db.transaction() as session:
        shown = workspaces.shown(session, workspaces.get(session, owner, name))
        op = start_of(session, shown)
        under_way = op is not None and not op.state.is_final
        told = op is not None and (under_way or shown.state is WorkspaceState.FAILED)
        progress = workspace_view.progress(ctx, session, op, shown, v) if op is not None and told else None
        kept = state_view.offered(ctx, session, owner, name, v) if shown.state.can_start else None
    if shown.state is WorkspaceState.READY and shown.url and not under_way:
        return RedirectResponse(own_path(shown.url, f"{ctx.prefix}/"), status_code=303)
    view: dict[str, Any] = {
        "actor": actor,
        "here": "home",
        "row": workspace_view.row(ctx, shown, actor.name, v),
        "progress": progress,
        "kept": kept,
        "page_data": followed,
    }
    if op is not None and under_way:
        more: dict[str, Any] = {
            "title": v.say("starting.title", name=name),
            "zero": v.money(0),
            "can_cancel": op.can_cancel,
        }
        return render(request, "starting.html", **view, **more)
    return render(request, "workspace.html", **view, **_standing(shown, op, v))


@router.post("/workspaces/{owner}/{name}/cancel")
async def cancel(owner: str, name: str, request: Request, actor: Actor = Depends(may.page)) -> Response:
    """Go back; a start that has come too far for that is shown as it is."""
    known(request, actor)
    actor.check_owner(owner)
    ctx = context(request)
    with ctx.db.transaction() as session:
        op = start_of(session, workspaces.shown(session, workspaces.get(session, owner, name)))
    if op is not None and not op.state.is_final:
        try:
            await ctx.operations.cancel(op.id, by=actor.name)
        except GearshiftError as error:
            if error.code != "too_late":
                raise
    return RedirectResponse(f"{ctx.prefix}/workspaces/{owner}/{name}", status_code=303)


@router.get("/workspaces/{owner}/{name}/stop")
async def ask_to_stop(owner: str, name: str, request: Request, actor: Actor = Depends(may.page)) -> Response:
    """What a stop means, with the plan that the press confirms."""
    known(request, actor)
    ctx, v = context(request), voice(request)
    plan = await plans.issue(ctx, actor, {"kind": "stop", "workspace": f"{owner}/{name}"})
    with ctx.db.transaction() as session:
        shown = workspaces.shown(session, workspaces.get(session, owner, name))
    row = workspace_view.row(ctx, shown, actor.name, v)
    days = f"{ctx.deployment.state.keep_days:g}"
    return render(request, "stop.html", actor=actor, here="home", row=row, plan=plan.id, days=days)


@router.post("/workspaces/{owner}/{name}/stop")
async def stop(owner: str, name: str, request: Request, actor: Actor = Depends(may.page)) -> Response:
    """Confirm that plan; one that has become stale is shown anew."""
    known(request, actor)
    page = f"{context(request).prefix}/workspaces/{owner}/{name}"
    return await press_plan(request, actor, again=f"{page}/stop", done=page)


def start_of(session: Session, shown: Workspace) -> Operation | None:
    """The start under way or waiting; else the last one there was."""
    row = journal.latest(session, shown.id, OperationKind.START)
    return None if row is None else journal.operation_of(row)


def _standing(shown: Workspace, op: Operation | None, v: Voice) -> dict[str, Any]:
    """What to say about a workspace that is not being started."""
    failed = shown.state is WorkspaceState.FAILED
    error = v.told(op.error) if failed and op is not None else None
    if failed and error is None:
        error = workspace_view.why(shown, v) or v.say("reason.start_failed")
    leads = {
        WorkspaceState.STOPPED: v.say("workspace.disks_stay"),
        WorkspaceState.NEEDS_ATTENTION: v.say("workspace.attention_lead"),
    }
    lead = leads.get(shown.state) or v.say("workspace.moving_lead")
    why = workspace_view.why(shown, v)
    return {"error": error, "lead": f"{why[:1].upper()}{why[1:]}. {lead}" if why and not failed else lead}


router.include_router(disk_pages.router)
router.include_router(delete_pages.router)
router.include_router(wait_pages.router)
