"""The way of a browser through the hub's sign-in and back; no token is ever in an address or a page."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse
from gearshift.model.errors import fail
from starlette.responses import Response

from gearshift_hub.control.auth import (
    back_after_login,
    begin_session,
    context,
    login,
    may,
    state_cookie,
)
from gearshift_hub.control.context import Context
from gearshift_hub.control.return_paths import own_path

router = APIRouter(tags=["sign-in"])


@router.get("/alive", dependencies=[Depends(may.anyone)], status_code=204)
async def alive() -> None:
    """For the proxy, each second: control is there."""


@router.get("/login", dependencies=[Depends(may.anyone)])
async def sign_in(request: Request, next: str = "", ctx: Context = Depends(context)) -> Response:
    """To the hub, and afterwards to `next` if that is a path of our own host."""
    raise login(request, own_path(next, f"{ctx.prefix}/"))


@router.get("/oauth_callback", dependencies=[Depends(may.anyone)])
async def signed_in(
    request: Request, code: str = "", state: str = "", ctx: Context = Depends(context)
) -> Response:
    """Back from the hub with a code that is worth something to us alone."""
    back = back_after_login(request, state)
    if back is None:
        raise fail("csrf")
    token = await ctx.hub.token_for_code(code, f"{ctx.prefix}/oauth_callback")
    if token is None:
        raise fail("unauthenticated")
    answer = RedirectResponse(own_path(back, f"{ctx.prefix}/"), status_code=302)
    answer.delete_cookie(state_cookie(state), path=f"{ctx.prefix}/")
    begin_session(request, answer, token)
    return answer
