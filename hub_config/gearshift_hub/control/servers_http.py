"""A workspace's own server over HTTP, at its port on this box, with the key of its launch (never a token of ours)."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
from gearshift.model.errors import fail, from_body
from gearshift.model.launch import DOOR_KEY_HEADER

from gearshift_hub.control.keys import door_key
from gearshift_hub.control.servers import ServerGoneError

CONNECT_S = 5.0


class HttpServers:
    """The step's own deadline ends whatever takes too long."""

    def __init__(
        self, base_url: str, state_secret: str, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._base_url = base_url
        self._state_secret = state_secret
        timeout = httpx.Timeout(None, connect=CONNECT_S)
        self._http = httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False)

    async def plan(self, owner: str, name: str, port: int) -> dict[str, Any]:
        return await self._ask(owner, name, port, "POST", "state/plan", {})

    async def save(
        self, owner: str, name: str, port: int, operation: str, *, busy: str, leave_out: list[str]
    ) -> dict[str, Any]:
        body = {"operation": operation, "busy": busy, "leave_out": leave_out}
        return await self._ask(owner, name, port, "POST", "state/save", body)

    async def restore(self, owner: str, name: str, port: int, operation: str) -> dict[str, Any]:
        return await self._ask(owner, name, port, "POST", "state/restore", {"operation": operation})

    async def health(self, owner: str, name: str, port: int) -> dict[str, Any]:
        return await self._ask(owner, name, port, "GET", "health", None)

    async def close(self) -> None:
        await self._http.aclose()

    async def _ask(
        self, owner: str, name: str, port: int, method: str, path: str, body: dict[str, Any] | None
    ) -> dict[str, Any]:
        prefix = f"{self._base_url}user/{quote(owner, safe='@~')}/{quote(name, safe='')}/gearshift"
        url = f"http://127.0.0.1:{port}{prefix}/{path}"
        headers = {DOOR_KEY_HEADER: door_key(self._state_secret, owner, name)}
        try:
            answer = await self._http.request(method, url, json=body, headers=headers)
        except httpx.TransportError as error:
            raise ServerGoneError(type(error).__name__) from error
        said = _json(answer)
        if answer.is_success:
            return said
        if "error" in said:
            raise from_body(said, answer.status_code)
        raise fail("step_failed", step=path, cause=f"the server answered {answer.status_code}")


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        said = answer.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
