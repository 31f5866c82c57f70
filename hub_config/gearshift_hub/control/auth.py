"""Who is calling and what they may do; every route declares one of the `may.*` checks below.

A caller is known by a hub token (`Authorization: token ...`) or by our session cookie, which holds a hub token sealed
to us; the hub says whose it is and with which scopes, and that answer is kept for five seconds.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal
from urllib.parse import quote, urlencode

from fastapi import Request
from gearshift.model.errors import fail
from starlette.responses import Response

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.errors import LoginRequired
from gearshift_hub.control.hub import HubUser
from gearshift_hub.control.sealing import Sealer, Ticket
from gearshift_hub.scopes import OAUTH_CLIENT

CACHE_S = 5.0
SESSION_COOKIE = "gearshift-session"
SESSION_AGE_S = 14 * 24 * 3600
STATE_AGE_S = 600
XSRF_HEADER = "X-Gearshift-XSRF"
PRESS_HEADER = "X-Gearshift-Press"

READING = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Actor:
    """The caller of one request.

    kind: `server` a workspace's own token, `person` a personal token, `browser` our cookie, `service` a hub service.
    """

    name: str
    kind: Literal["server", "person", "service", "browser"]
    scopes: frozenset[str] = field(default_factory=frozenset)
    workspace: str | None = None
    """`owner/name`, for the token of a workspace's server."""

    @property
    def admin(self) -> bool:
        return self.has("admin")

    def has(self, what: str) -> bool:
        """Whether the scope `custom:gearshift:<what>` came with the token."""
        return any(scope.partition("!")[0] == f"custom:gearshift:{what}" for scope in self.scopes)

    def check_owner(self, owner: str) -> None:
        """Only the owner and an admin may touch what belongs to `owner`."""
        if self.name != owner and not self.admin:
            raise fail("forbidden", role="the owner", role_zh="所有者")


@dataclass(frozen=True)
class Watcher:
    """Somebody who reads events; with a ticket only those of its workspace, and only until it is over."""

    actor: Actor
    ticket: Ticket | None = None


class May:
    """The checks a route can declare: `actor: Actor = Depends(may.read)`."""

    async def read(self, request: Request) -> Actor:
        """See one's own things."""
        return await _with(request, "read")

    async def propose(self, request: Request) -> Actor:
        """Ask for a plan, and change what is free and can be undone."""
        return await _with(request, "propose")

    async def spend(self, request: Request) -> Actor:
        """Confirm with a token; a press in a dialog is judged where plans are confirmed."""
        return await _with(request, "spend")

    async def admin(self, request: Request) -> Actor:
        return await _with(request, "admin")

    async def watch(self, request: Request) -> Watcher:
        """Read events: a ticket for one workspace, or whoever may read."""
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "ticket":
            return Watcher(await _with(request, "read"))
        ticket = _sealer(request).open_ticket(text.strip(), context(request).clock.now())
        if ticket is None:
            raise fail("unauthenticated")
        return Watcher(Actor(ticket.owner, "server", workspace=ticket.workspace), ticket)

    async def page(self, request: Request) -> Actor:
        """See a page; who is not signed in is sent to the hub's sign-in and back."""
        session = _session(request)
        actor = await _browser(request, session) if session else None
        if actor is None:
            raise login(request, _own_url(request))
        if request.method not in READING:
            await _check_xsrf(request, session)
        return actor

    async def anyone(self) -> None:
        """Public on purpose: static files, the way to sign in."""


may = May()
CHECKS: tuple[Callable[..., object], ...] = (
    may.read,
    may.propose,
    may.spend,
    may.admin,
    may.watch,
    may.page,
    may.anyone,
)
"""Every route depends on one of these; a test walks the router."""


def context(request: Request) -> Context:
    """The one Context, as a dependency."""
    found = request.app.state.ctx
    assert isinstance(found, Context)
    return found


class Callers:
    """Tokens already asked about; kept for five seconds under a hash, a refusal as well."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, HubUser | None]] = {}

    async def ask(self, ctx: Context, token: str) -> HubUser | None:
        key = hashlib.sha256(token.encode()).hexdigest()
        now = ctx.clock.monotonic()
        known = self._known.get(key)
        if known and known[0] > now:
            return known[1]
        user = await ctx.hub.whoami(token)
        self._known = {old: entry for old, entry in self._known.items() if entry[0] > now}
        self._known[key] = (now + CACHE_S, user)
        return user


async def actor_of(request: Request) -> Actor:
    """The caller; raises `unauthenticated` for nobody, `csrf` for a cookie without our page's token."""
    token = _token(request)
    if token:
        return _known(request, await _ask(request, token), browser=False)
    session = _session(request)
    actor = await _browser(request, session) if session else None
    if actor is None:
        raise fail("unauthenticated")
    if request.method not in READING:
        await _check_xsrf(request, session)
    return actor


def xsrf(request: Request) -> str:
    """The token that this browser's pages must send back; empty when there is no session."""
    session = _session(request)
    return _sealer(request).xsrf(session["id"]) if session else ""


def login(request: Request, back: str) -> LoginRequired:
    """The way to the hub's sign-in, remembering where to go afterwards."""
    ctx = context(request)
    state = secrets.token_urlsafe(24)
    query = urlencode(
        {
            "client_id": OAUTH_CLIENT,
            "redirect_uri": f"{ctx.prefix}/oauth_callback",
            "response_type": "code",
            "state": state,
        }
    )
    sealed = _sealer(request).seal({"state": state, "back": back})
    return LoginRequired(
        f"{ctx.base_url}hub/api/oauth2/authorize?{query}", (state_cookie(state), sealed), f"{ctx.prefix}/"
    )


def state_cookie(state: str) -> str:
    """One cookie per sign-in under way, so that two tabs do not disturb each other."""
    return f"gearshift-state-{hashlib.sha256(state.encode()).hexdigest()[:8]}"


def back_after_login(request: Request, state: str) -> str | None:
    """Where the sign-in with this state began; None when it did not begin in this browser."""
    opened = _sealer(request).unseal(request.cookies.get(state_cookie(state), ""), STATE_AGE_S)
    if opened is None or not hmac.compare_digest(str(opened["state"]), state):
        return None
    return str(opened["back"])


def new_ticket(request: Request, owner: str, workspace: str) -> tuple[str, Ticket]:
    """A ticket for the events of one workspace, and when it is over."""
    ctx = context(request)
    until = ctx.clock.now() + timedelta(seconds=ctx.deployment.deadlines.ticket)
    ticket = Ticket(owner, workspace, until.replace(microsecond=0))
    return _sealer(request).ticket(ticket), ticket


async def was_pressed(request: Request, actor: Actor) -> bool:
    """Whether the request came by a press: on our page, or in Lab and passed on by the server extension.

    The extension proves it with the token of the page's sign-in to this workspace. Code in a kernel holds the
    server's token, but never that one.
    """
    if actor.kind == "browser":
        return True
    proof = request.headers.get(PRESS_HEADER)
    if actor.kind != "server" or not proof:
        return False
    user = await _ask(request, proof)
    if user is None or not user.signed_in or user.name != actor.name:
        return False
    return _server_of(user.scopes) == actor.workspace


def begin_session(request: Request, answer: Response, token: str) -> None:
    """Give this browser its session: the hub token, readable by us only."""
    ctx = context(request)
    sealed = _sealer(request).seal({"id": secrets.token_urlsafe(24), "token": token})
    answer.set_cookie(
        SESSION_COOKIE,
        sealed,
        max_age=SESSION_AGE_S,
        path=f"{ctx.prefix}/",
        httponly=True,
        samesite="lax",
        secure=_scheme(request) == "https",
    )


async def _with(request: Request, scope: str) -> Actor:
    actor = await actor_of(request)
    if not actor.has(scope):
        needed = f"custom:gearshift:{scope}"
        raise fail("forbidden", role=f"a token with {needed}", role_zh=f"带有 {needed} 的令牌")
    return actor


async def _browser(request: Request, session: dict[str, str]) -> Actor | None:
    user = await _ask(request, session["token"])
    return None if user is None else _known(request, user, browser=True)


async def _ask(request: Request, token: str) -> HubUser | None:
    callers = request.app.state.callers
    assert isinstance(callers, Callers)
    return await callers.ask(context(request), token)


def _known(request: Request, user: HubUser | None, *, browser: bool) -> Actor:
    if user is None:
        raise fail("unauthenticated")
    if user.kind == "service":
        return Actor(user.name, "service", user.scopes)
    with context(request).db.transaction() as session:
        account = session.get(AccountRow, user.name)
    if account and account.disabled:
        raise fail("disabled_user", value=user.name)
    if browser:
        return Actor(user.name, "browser", user.scopes)
    workspace = _server_of(user.scopes)
    return Actor(user.name, "server" if workspace else "person", user.scopes, workspace)


def _server_of(scopes: frozenset[str]) -> str | None:
    """`owner/name` if these are the scopes of a workspace's own server: access to that one and no other."""
    access = [scope for scope in scopes if scope.partition("!")[0] == "access:servers"]
    if len(access) == 1 and access[0].startswith("access:servers!server="):
        return access[0].partition("=")[2]
    return None


def _token(request: Request) -> str | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() in ("token", "bearer") else None


def _session(request: Request) -> dict[str, str] | None:
    sealed = request.cookies.get(SESSION_COOKIE)
    return _sealer(request).unseal(sealed, SESSION_AGE_S) if sealed else None


async def _check_xsrf(request: Request, session: dict[str, str] | None) -> None:
    given = request.headers.get(XSRF_HEADER)
    if given is None and "form" in request.headers.get("content-type", ""):
        given = str((await request.form()).get("_xsrf", ""))
    expected = _sealer(request).xsrf(session["id"]) if session else ""
    if not expected or not hmac.compare_digest((given or "").encode(), expected.encode()):
        raise fail("csrf")


def _sealer(request: Request) -> Sealer:
    sealer = request.app.state.sealer
    assert isinstance(sealer, Sealer)
    return sealer


def _own_url(request: Request) -> str:
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{quote(request.url.path)}{query}" if request.method in READING else f"{context(request).prefix}/"


def _scheme(request: Request) -> str:
    return request.headers.get("X-Forwarded-Proto", request.url.scheme).partition(",")[0]
