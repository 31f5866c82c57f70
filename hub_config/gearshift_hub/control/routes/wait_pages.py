"""The pages of the waitlist: joining it from a start that was sold out, the consent, and what is done with a place in it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.units import from_iso, parse_money
from gearshift.model.waitlist import WaitKind

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import waitlist
from gearshift_hub.control.operations.waitlist import Joining
from gearshift_hub.control.pages import start_pages, start_view, wait_view
from gearshift_hub.control.pages.answers import SHOW_AGAIN, PageRoute, known, sent
from gearshift_hub.control.pages.frame import render, voice
from gearshift_hub.control.pages.start_view import Choice
from gearshift_hub.control.services import plans
from gearshift_hub.control.services.plans import Confirmation

router = APIRouter(route_class=PageRoute)


@router.get("/wait")
async def ask_how(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """How waiting would be, and the two ways of it; nothing is joined by looking."""
    known(request, actor)
    return _how(request, actor, start_view.read(request.query_params))


@router.post("/wait")
async def join(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """In line to be asked, or on to the consent for what begins by itself."""
    known(request, actor)
    ctx, fields = context(request), await sent(request)
    choice = start_view.read(fields)
    try:
        body = _body(ctx, actor, choice)
        if fields.get("mode") != "itself":
            waitlist.join(ctx, actor, Joining.model_validate(body))
            return RedirectResponse(f"{ctx.prefix}/?stay", status_code=303)
        asked = body | {
            "cap_nano": _money(str(fields.get("cap", ""))),
            "until": _end(str(fields.get("until", ""))),
        }
        plan = await plans.issue(ctx, actor, {"kind": "wait", **asked})
    except GearshiftError as error:
        if error.field not in ("cap_nano", "until", "name"):
            raise
        return _how(request, actor, choice, problem=voice(request).error(error), status=error.status)
    v, figures = voice(request), plan.figures
    return render(
        request,
        "wait_agree.html",
        actor=actor,
        here="start",
        machine=wait_view.title(ctx, choice.machine, v),
        name=choice.name,
        price=v.per_hour(figures["price_per_hour_nano"]),
        until=v.moment(from_iso(figures["until"])),
        plan=plan.id,
        back=_address(ctx, choice),
    )


@router.post("/wait/agree")
async def agree(request: Request, actor: Actor = Depends(may.page)) -> Response:
    """The press, with the tick that says what it costs; a plan that has become stale is asked for anew."""
    known(request, actor)
    ctx, fields = context(request), await sent(request)
    if fields.get("agree") != "yes":
        raise fail("bad_request", field="agree", allowed=["yes"], problem="tick the box first")
    try:
        await plans.confirm(ctx, actor, str(fields.get("plan", "")), Confirmation(press=True), pressed=True)
    except GearshiftError as error:
        if error.code not in SHOW_AGAIN:
            raise
        return RedirectResponse(f"{ctx.prefix}/start", status_code=303)
    return RedirectResponse(f"{ctx.prefix}/?stay", status_code=303)


@router.post("/waits/{wait}/start")
async def start(wait: str, request: Request, actor: Actor = Depends(may.page)) -> Response:
    """The press on Start, on the machine that is held."""
    known(request, actor)
    ctx = context(request)
    found = waitlist.one(ctx, actor, wait)
    owner, _, name = found.workspace.rpartition("/")
    if actor.name != owner or found.kind is not WaitKind.START:
        raise fail("forbidden", role="the owner", role_zh="所有者")
    return await start_pages.begin(request, actor, start_view.of_spec(name, found.spec))


@router.post("/waits/{wait}/keep")
async def keep(wait: str, request: Request, actor: Actor = Depends(may.page)) -> Response:
    """Hold it as long again."""
    known(request, actor)
    waitlist.keep(context(request), actor, wait)
    return RedirectResponse(f"{context(request).prefix}/?stay", status_code=303)


@router.post("/waits/{wait}/withdraw")
async def withdraw(wait: str, request: Request, actor: Actor = Depends(may.page)) -> Response:
    """Out of the line."""
    known(request, actor)
    waitlist.withdraw(context(request), actor, wait)
    return RedirectResponse(f"{context(request).prefix}/?stay", status_code=303)


def _how(
    request: Request, actor: Actor, choice: Choice, *, problem: str | None = None, status: int = 200
) -> Response:
    ctx, v = context(request), voice(request)
    outlook = waitlist.outlook(ctx, actor, choice.machine)
    machine = wait_view.title(ctx, choice.machine, v)
    return render(
        request,
        "wait.html",
        actor=actor,
        here="start",
        status=status,
        machine=machine,
        name=choice.name,
        pace=wait_view.pace(ctx, outlook, machine, v),
        hold=wait_view.about(outlook.hold_seconds, v),
        price=v.money(outlook.price_per_hour_nano).removeprefix(v.symbol).replace(",", ""),
        symbol=v.symbol,
        ends=wait_view.ends(ctx, outlook.longest_until, v),
        problem=problem,
        kept=[*(pair for pair in choice.pairs() if pair[0] != "name"), ("machine", choice.machine)],
        back=_start(ctx, choice),
    )


def _body(ctx: Context, actor: Actor, choice: Choice) -> dict[str, Any]:
    """What is waited for: the start with these choices."""
    with ctx.db.transaction() as session:
        spec = choice.spec(ctx, session, actor.name).model_dump(mode="json")
    return {"what": "start", "machine": choice.machine, "name": choice.name, "spec": spec}


def _money(typed: str) -> int | str:
    """As nano-units; what is no amount stays as it was typed, and is refused as such."""
    try:
        return parse_money(typed.strip())
    except ValueError:
        return typed


def _end(typed: str) -> str | None:
    return typed or None


def _start(ctx: Context, choice: Choice) -> str:
    return f"{ctx.prefix}/start?{urlencode([*choice.pairs(), ('machine', choice.machine)])}"


def _address(ctx: Context, choice: Choice) -> str:
    return f"{ctx.prefix}/wait?{urlencode([*choice.pairs(), ('machine', choice.machine)])}"
