"""Starting from a page: the form as it is drawn, what one press does, and the page of each refusal."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from gearshift.model.errors import GearshiftError
from gearshift.model.slug import is_workspace_name
from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor, context
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import waitlist
from gearshift_hub.control.pages import start_view, state_view, wait_view, workspace_view
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.pages.frame import render, stream, voice
from gearshift_hub.control.pages.start_view import Choice
from gearshift_hub.control.services import disk_care, leases, plans, workspaces
from gearshift_hub.control.services.plans import Confirmation

FIELDS = ("name", "image", "machine", "disks", "datasets")
IN_FORM = frozenset(
    {
        "bad_name",
        "unknown_machine",
        "unknown_image",
        "unknown_disk",
        "unknown_dataset",
        "unknown_plan",
        "image_mismatch",
        "disk_not_yours",
        "disk_readonly",
    }
)
"""Refusals that belong beside a field; all others get a page of their own."""
ALTERNATIVES = 3


def form(
    request: Request,
    actor: Actor,
    choice: Choice,
    *,
    status: int = 200,
    beside: dict[str, str] | None = None,
    note: str | None = None,
) -> Response:
    """The start form with these choices; `beside` is a sentence for a field."""
    ctx, v = context(request), voice(request)
    followed = stream(ctx)
    with ctx.db.transaction() as session:
        view = start_view.view(ctx, session, actor.name, choice, v)
        last = None if choice.editing else _last(ctx, session, actor, v)
        kept = state_view.offered(ctx, session, actor.name, choice.editing, v) if choice.editing else None
    faults = dict.fromkeys(FIELDS) | (beside or {})
    view["form"]["note"] = note
    view["page_data"] |= followed
    more = {"last": last, "kept": kept, "faults": faults}
    return render(request, "start.html", actor=actor, here="start", status=status, **more, **view)


def asked(ctx: Context, session: Session, actor: Actor, choice: Choice) -> Choice:
    """What the form begins with: the workspace named in the query, else the query's choices over the suggested ones."""
    if choice.editing:
        row = workspaces.get(session, actor.name, choice.editing)
        choice = start_view.of_spec(row.name, workspaces.spec_of(row), row.name, choice.state)
    else:
        choice = choice.over(start_view.suggested(ctx, session, actor.name))
    return start_view.fitted(ctx, session, choice)


async def press(request: Request, actor: Actor, choice: Choice) -> Response:
    """The form was sent: judge the name and the price that was shown, then start."""
    ctx, v = context(request), voice(request)
    fault = _name_fault(ctx, actor, choice, v)
    if fault:
        return form(request, actor, choice, status=422, beside={"name": fault})
    price = start_view.price(ctx, choice)
    if choice.seen_price != price and ctx.deployment.machine(choice.machine) is not None:
        note = v.say("start.price_changed", price=v.money(price))
        return form(request, actor, choice, status=409, note=note)
    return await begin(request, actor, choice)


async def begin(request: Request, actor: Actor, choice: Choice) -> Response:
    """Plan and confirmation in one: the page was what the person was shown, the press came with its token."""
    ctx, v = context(request), voice(request)
    try:
        with ctx.db.transaction() as session:
            spec = choice.spec(ctx, session, actor.name)
            disk_care.check_room(session, actor.name, list(choice.disks))
        body = {"kind": "start", "name": choice.name, "spec": spec.model_dump(mode="json")}
        plan = await plans.issue(ctx, actor, {**body, **choice.kernels})
        await plans.confirm(ctx, actor, plan.id, Confirmation(press=True), pressed=True)
    except GearshiftError as error:
        if error.code in IN_FORM:
            field = {"disk": "disks", "dataset": "datasets"}.get(str(error.field), str(error.field))
            beside = {field if field in FIELDS else "machine": v.error(error)}
            return form(request, actor, choice, status=error.status, beside=beside)
        return _refused(request, actor, choice, error)
    return RedirectResponse(f"{ctx.prefix}/workspaces/{actor.name}/{choice.name}", status_code=303)


def _refused(request: Request, actor: Actor, choice: Choice, error: GearshiftError) -> Response:
    """Cause, "nothing was charged", and up to three machines that would work now."""
    ctx, v = context(request), voice(request)
    machine = ctx.deployment.machine(choice.machine)
    sold_out = error.code == "sold_out"
    title = (
        v.say("refused.sold_out", machine=v.text(machine.title))
        if sold_out and machine
        else v.say("refused.other")
    )
    return render(
        request,
        "refused.html",
        actor=actor,
        here="start",
        status=error.status,
        title=title,
        lead=v.say("refused.lead", name=choice.name),
        cause=None if sold_out else v.error(error),
        sold_out=sold_out,
        alternatives=_alternatives(ctx, choice, error, v) if sold_out else [],
        kept=choice.pairs(),
        back=_back(ctx, choice),
        wait=_wait(ctx, actor, choice, v) if sold_out and machine else None,
    )


def _wait(ctx: Context, actor: Actor, choice: Choice, v: Voice) -> dict[str, str]:
    """The place in line that this start would have, and the way to it."""
    outlook = waitlist.outlook(ctx, actor, choice.machine)
    query = urlencode([*choice.pairs(), ("machine", choice.machine)])
    title = wait_view.title(ctx, choice.machine, v)
    return {"pace": wait_view.pace(ctx, outlook, title, v), "page": f"{ctx.prefix}/wait?{query}"}


def _alternatives(ctx: Context, choice: Choice, error: GearshiftError, v: Voice) -> list[dict[str, Any]]:
    names = list(error.facts.get("alternatives") or [])[:ALTERNATIVES]
    with ctx.db.transaction() as session:
        free = leases.inventory(ctx, session)
    found = [machine for name in names if (machine := ctx.deployment.machine(name)) is not None]
    return [start_view.machine_row(machine, free[machine.id], choice, v) for machine in found]


def _back(ctx: Context, choice: Choice) -> str:
    """The form with the choices as they were."""
    if choice.editing:
        return f"{ctx.prefix}/start?{urlencode({'from': choice.editing})}"
    return f"{ctx.prefix}/start?{urlencode([*choice.pairs(), ('machine', choice.machine)])}"


def _last(ctx: Context, session: Session, actor: Actor, v: Voice) -> dict[str, Any] | None:
    """The workspace that was stopped last, to be started with one press."""
    rows = [row for row in workspaces.listed(session, actor.name) if WorkspaceState(row.state).can_start]
    if not rows:
        return None
    shown = workspaces.shown(session, max(rows, key=lambda row: row.since))
    row = workspace_view.row(ctx, shown, actor.name, v)
    why = row["why"] or row["state"]
    parts = (row["image"], row["machine"], v.say("workspace.stopped_at", time=row["since"], reason=why))
    kept = state_view.offered(ctx, session, shown.owner, shown.name, v)
    return {**row, "summary": " · ".join(parts), "kept": kept} if row["can_start"] else None


def _name_fault(ctx: Context, actor: Actor, choice: Choice, v: Voice) -> str | None:
    """A name that cannot be, or that would quietly change another workspace."""
    if not is_workspace_name(choice.name):
        return v.say("start.name_bad")
    with ctx.db.transaction() as session:
        taken = workspaces.find(session, actor.name, choice.name) is not None
    return v.say("start.name_taken", name=choice.name) if taken and choice.editing != choice.name else None
