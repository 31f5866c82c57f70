"""How a page route answers when something is refused: a page with the sentence and a way on, never bare JSON."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from gearshift.model.errors import GearshiftError, fail
from starlette.datastructures import FormData

from gearshift_hub.control.auth import Actor, context
from gearshift_hub.control.hub import HubDownError
from gearshift_hub.control.pages.frame import render, voice
from gearshift_hub.control.services import plans
from gearshift_hub.control.services.plans import Confirmation

SHOW_AGAIN = frozenset({"plan_stale", "plan_used", "plan_unknown"})


class PageRoute(APIRoute):
    """A route whose refusals are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_page(request: Request) -> Response:
            try:
                return await handle(request)
            except GearshiftError as error:
                return refused(request, error)
            except HubDownError:
                return unavailable(request)

        return handle_page


def known(request: Request, actor: Actor) -> None:
    """Remember for whom a page is drawn, should it turn into a refusal."""
    request.state.actor = actor


async def sent(request: Request) -> FormData:
    """The fields of a form: text only, and nothing that no database could keep."""
    fields = [(key, value) for key, value in (await request.form()).multi_items() if isinstance(value, str)]
    for key, value in fields:
        if "\0" in value:
            raise fail("bad_request", field=key, value=value, problem="it holds a NUL")
    return FormData([*fields])


async def press_plan(request: Request, actor: Actor, *, again: str, done: str) -> Response:
    """Confirm the plan that the form holds, then on to `done`; one that has become stale is shown anew, at `again`."""
    plan = str((await sent(request)).get("plan", ""))
    try:
        await plans.confirm(context(request), actor, plan, Confirmation(press=True), pressed=True)
    except GearshiftError as error:
        if error.code not in SHOW_AGAIN:
            raise
        return RedirectResponse(again, status_code=303)
    return RedirectResponse(done, status_code=303)


def refused(request: Request, error: GearshiftError) -> HTMLResponse:
    v = voice(request)
    actor = getattr(request.state, "actor", None)
    if error.code == "control_unavailable":
        return unavailable(request)
    again = request.url.path if request.method == "GET" and error.status >= 500 else None
    return render(
        request,
        "error.html",
        actor=actor,
        status=error.status,
        title=v.say("error.title"),
        message=v.error(error),
        again=again,
    )


def unavailable(request: Request) -> HTMLResponse:
    """The hub does not answer: nothing can be started, what runs goes on."""
    v = voice(request)
    return render(
        request,
        "error.html",
        actor=getattr(request.state, "actor", None),
        status=503,
        title=v.say("error.unavailable"),
        message=v.say("error.unavailable_lead"),
        again=request.url.path,
    )
