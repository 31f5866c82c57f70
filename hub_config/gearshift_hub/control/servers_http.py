"""A workspace's own server over HTTP, at its port on this box or through the proxy; our key is that of its launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx
from gearshift.model import foreign_json
from gearshift.model.errors import ERRORS, fail, from_body
from gearshift.model.launch import DOOR_KEY_HEADER
from gearshift.model.machine import Machine
from gearshift.model.record import Record
from pydantic import Field

from gearshift_hub.control.keys import door_key
from gearshift_hub.control.servers import Names, ServerGoneError

CONNECT_S = 5.0
LARGEST_ANSWER = 4 << 20

MANY = httpx.Limits(max_connections=None, max_keepalive_connections=20)
"""A start holds its connection until the server is ready; no number of them may keep another call waiting."""


class HttpServers:
    """The step's own deadline ends whatever takes too long."""

    def __init__(
        self,
        base_url: str,
        state_secret: str,
        proxy_port: int | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """With a `proxy_port` every server is behind it; without, each at its own port here."""
        self._base_url = base_url
        self._proxy_port = proxy_port
        self._state_secret = state_secret
        timeout = httpx.Timeout(None, connect=CONNECT_S)
        self._http = httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False, limits=MANY)

    async def plan(self, owner: str, name: str, port: int, *, probe: bool = False) -> dict[str, Any]:
        return await self._ask(owner, name, port, "POST", "state/plan", {"probe": probe})

    async def save(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        busy: str,
        leave_out: Names,
        rerun: Names = (),
        partly: bool = False,
        leaving: bool = False,
        durable: bool = True,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        body = {
            "operation": operation,
            "busy": busy,
            "leave_out": leave_out,
            "rerun": rerun,
            "partly": partly,
            "leaving": leaving,
            "durable": durable,
            **_limit(seconds),
        }
        return await self._ask(owner, name, port, "POST", "state/save", body)

    async def stay(self, owner: str, name: str, port: int) -> None:
        await self._ask(owner, name, port, "POST", "documents/stay", {})

    async def restore(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        state: str | None = None,
        check: bool = False,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        body = {"operation": operation, "state": state or operation, "check": check, **_limit(seconds)}
        return await self._ask(owner, name, port, "POST", "state/restore", body)

    async def look_at(self, owner: str, name: str, port: int, disk: str, state: str) -> dict[str, Any]:
        return await self._ask(owner, name, port, "POST", "state/shared/look", {"disk": disk, "state": state})

    async def bring_in(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        disk: str,
        state: str,
        consent: Mapping[str, str],
    ) -> dict[str, Any]:
        body = {"operation": operation, "disk": disk, "state": state, "consent": dict(consent)}
        return await self._ask(owner, name, port, "POST", "state/shared/bring-in", body)

    async def activity(self, owner: str, name: str, port: int) -> dict[str, Any]:
        return await self._ask(owner, name, port, "GET", "activity", None)

    async def resize(self, owner: str, name: str, port: int, machine: Machine) -> dict[str, Any]:
        body = {
            "machine": machine.id,
            "cpus": machine.cpus,
            "memory_bytes": machine.memory_bytes,
            "threads": machine.threads,
        }
        return await self._ask(owner, name, port, "PUT", "machine", body)

    async def health(self, owner: str, name: str, port: int) -> dict[str, Any]:
        return await self._ask(owner, name, port, "GET", "health", None)

    async def close(self) -> None:
        await self._http.aclose()

    async def _ask(
        self, owner: str, name: str, port: int, method: str, path: str, body: dict[str, Any] | None
    ) -> dict[str, Any]:
        prefix = f"{self._base_url}user/{quote(owner, safe='@~')}/{quote(name, safe='')}/gearshift"
        url = f"http://127.0.0.1:{self._proxy_port or port}{prefix}/{path}"
        headers = {DOOR_KEY_HEADER: door_key(self._state_secret, owner, name)}
        try:
            async with self._http.stream(method, url, json=body, headers=headers) as answer:
                said = _said(await _read(answer))
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ServerGoneError(type(error).__name__) from error
        if answer.is_success:
            return said
        error_said = said.get("error")
        kind = ERRORS.get(str(error_said.get("code"))) if isinstance(error_said, dict) else None
        if kind is not None:
            raise from_body(said, kind.status)
        raise fail("step_failed", step=path, cause=f"the server answered {answer.status_code}")


class _Variable(Record):
    name: str
    seconds: float | None = None


class _Kernel(Record):
    kernel_id: str
    variables: list[_Variable] = Field(default_factory=list)


class _Said(Record):
    """As much of an answer as control relies on."""

    kernels: list[_Kernel] = Field(default_factory=list)


def _limit(seconds: float | None) -> dict[str, float]:
    return {} if seconds is None else {"seconds": seconds}


async def _read(answer: httpx.Response) -> bytes:
    """The server belongs to its person, who may have it answer anything, without end."""
    said = bytearray()
    async for piece in answer.aiter_bytes():
        said += piece
        if len(said) > LARGEST_ANSWER:
            raise ServerGoneError("its answer has no end")
    return bytes(said)


def _said(raw: bytes) -> dict[str, Any]:
    try:
        found = foreign_json.read(raw)
        _Said.model_validate(found, strict=True)
    except ValueError as error:  # pydantic's is one as well
        raise ServerGoneError("its answer makes no sense") from error
    said: dict[str, Any] = found
    return said
