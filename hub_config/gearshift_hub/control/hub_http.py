"""The hub over HTTP: its REST API, and our routes in it for start, stop, hold, release and state."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote

import httpx
from gearshift.model.errors import fail, from_body

from gearshift_hub.control.hub import HubDownError, HubUser, ServerState
from gearshift_hub.scopes import OAUTH_CLIENT

ASK_S = 10.0
"""For questions. What acts has no limit here: the step's own deadline ends it."""
AWAY = (502, 503, 504)

MANY = httpx.Limits(max_connections=None, max_keepalive_connections=20)
"""A start holds its connection until the server is ready; no number of them may keep another call waiting."""


class HttpHub:
    """Control's way to the hub, with control's own token; one client for all calls."""

    def __init__(self, hub_api: str, token: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._api = hub_api.rstrip("/")
        self._token = token
        self._http = httpx.AsyncClient(transport=transport, timeout=ASK_S, trust_env=False, limits=MANY)

    async def whoami(self, token: str) -> HubUser | None:
        if not (token.isascii() and token.isprintable()):
            return None
        answer = await self._send("GET", "/user", token=token)
        if answer.status_code in (401, 403, 404):
            return None
        said = _checked(answer)
        kind: Literal["user", "service"] = "service" if said.get("kind") == "service" else "user"
        return HubUser(said["name"], kind, frozenset(said.get("scopes", ())), bool(said.get("session_id")))

    async def token_for_code(self, code: str, redirect_uri: str) -> str | None:
        form = {
            "client_id": OAUTH_CLIENT,
            "client_secret": self._token,
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
        }
        try:
            answer = await self._http.post(f"{self._api}/oauth2/token", data=form)
        except httpx.TransportError as error:
            raise HubDownError(str(error)) from error
        if answer.status_code != 200:
            return None
        token: str | None = answer.json().get("access_token")
        return token

    async def start(self, owner: str, name: str, operation: str, *, thaw: bool = False) -> ServerState:
        said = await self._act(owner, name, "start", {"operation": operation, "thaw": thaw})
        return _state(owner, name, {"ready": True, **said})

    async def stop(
        self, owner: str, name: str, operation: str, *, freeze: bool = False, resume: bool = False
    ) -> Literal["stopped", "frozen"]:
        said = await self._act(
            owner, name, "stop", {"operation": operation, "freeze": freeze, "resume": resume}
        )
        return "frozen" if said.get("state") == "frozen" else "stopped"

    async def hold(self, owner: str, name: str, operation: str) -> None:
        await self._act(owner, name, "hold", {"operation": operation})

    async def release(self, owner: str, name: str, operation: str, keep: Literal["new", "old"]) -> None:
        await self._act(owner, name, "release", {"operation": operation, "keep": keep})

    async def state(self, owner: str, name: str) -> ServerState:
        answer = await self._send("GET", f"{_path(owner, name)}/state")
        if answer.status_code == 404:
            return ServerState(owner, name)
        return _state(owner, name, _checked(answer))

    async def servers(self) -> list[ServerState]:
        said = _checked(await self._send("GET", "/gearshift/workspaces"))
        return [_state(one["owner"], one["name"], one) for one in said["workspaces"]]

    async def remove(self, owner: str, name: str) -> None:
        answer = await self._send("DELETE", _path(owner, name))
        if answer.status_code != 404:
            _checked(answer)

    async def add_user(self, name: str, admin: bool) -> None:
        answer = await self._send("POST", f"/users/{quote(name, safe='')}", json={"admin": admin})
        if answer.status_code != 409:
            _checked(answer)

    async def remove_user(self, name: str) -> None:
        answer = await self._send("DELETE", f"/users/{quote(name, safe='')}")
        if answer.status_code != 404:
            _checked(answer)

    async def close(self) -> None:
        await self._http.aclose()

    async def _act(self, owner: str, name: str, action: str, body: dict[str, Any]) -> dict[str, Any]:
        return _checked(await self._send("POST", f"{_path(owner, name)}/{action}", json=body, timeout=None))

    async def _send(self, method: str, path: str, *, token: str | None = None, **rest: Any) -> httpx.Response:
        headers = {"Authorization": f"token {token or self._token}"}
        try:
            answer = await self._http.request(method, f"{self._api}{path}", headers=headers, **rest)
        except (httpx.TransportError, UnicodeError) as error:
            raise HubDownError(type(error).__name__) from error
        if answer.status_code in AWAY and not _is_ours(answer):
            raise HubDownError(f"{method} {path}: {answer.status_code}")
        return answer


def _path(owner: str, name: str) -> str:
    return f"/gearshift/workspaces/{quote(owner, safe='')}/{quote(name, safe='')}"


def _is_ours(answer: httpx.Response) -> bool:
    try:
        said = answer.json()
    except ValueError:
        return False
    return isinstance(said, dict) and isinstance(said.get("error"), dict)


def _checked(answer: httpx.Response) -> dict[str, Any]:
    """What the hub said; its refusal is raised as the error it is."""
    if answer.is_success:
        said: dict[str, Any] = answer.json() if answer.content else {}
        return said
    if _is_ours(answer):
        raise from_body(answer.json(), answer.status_code)
    raise fail("step_failed", step="hub", cause=f"the hub answered {answer.status_code}")


def _state(owner: str, name: str, said: dict[str, Any]) -> ServerState:
    return ServerState(
        owner=owner,
        name=name,
        ready=bool(said.get("ready")),
        pending=said.get("pending"),
        frozen=bool(said.get("frozen")),
        held_by=said.get("held_by"),
        operation=said.get("operation"),
        pid=said.get("pid"),
        port=said.get("port"),
        url=said.get("url"),
        tree=said.get("tree"),
        exit_code=said.get("exit_code"),
        last_activity=_instant(said.get("last_activity")),
    )


def _instant(text: str | None) -> datetime | None:
    if not text:
        return None
    instant = datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
