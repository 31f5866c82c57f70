"""What every request must pass before a route sees it: a body of bearable size, JSON that can be kept, no NUL byte."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from gearshift.model import foreign_json
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.foreign_json import ForeignJsonError
from gearshift.model.units import format_bytes
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 1 << 20
COUNTS_ITSELF = "/jobs/bundles"
"""The one route for large bodies; it has a limit of its own and reads piece by piece."""


class Doorstep:
    """ASGI middleware. FastAPI reads a body before it asks who sent it, so its size is judged here."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            _check_address(scope)
            if not scope["path"].endswith(COUNTS_ITSELF):
                receive = await _whole_body(scope, receive)
        except GearshiftError as error:
            await JSONResponse(error.body(), error.status)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _check_address(scope: Scope) -> None:
    if "\0" in scope["path"]:
        raise fail("not_found", value=scope["path"])
    if b"%00" in scope["query_string"] or b"\0" in scope["query_string"]:
        raise fail("bad_request", field="query", problem="it holds a NUL")


async def _whole_body(scope: Scope, receive: Receive) -> Receive:
    """Read and judge the body; the app gets it as one piece, and afterwards whatever else comes."""
    headers = Headers(scope=scope)
    told = headers.get("content-length", "")
    if told.isdecimal():
        _check_size(int(told))
    body = bytearray()
    last: Message = {"type": "http.request", "more_body": True}
    while last["type"] == "http.request" and last.get("more_body", False):
        last = await receive()
        body += last.get("body", b"")
        _check_size(len(body))
    if body.strip() and _is_json(headers):
        _check_json(bytes(body))
    return _replay(bytes(body), last, receive)


def _check_size(size: int) -> None:
    if size > LARGEST_BODY:
        raise fail(
            "too_large", field="body", value=size, size=format_bytes(size), limit=format_bytes(LARGEST_BODY)
        )


def _is_json(headers: Headers) -> bool:
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _check_json(raw: bytes) -> None:
    """What no database and no answer could hold is refused whole."""
    try:
        foreign_json.read(raw)
    except ForeignJsonError as error:
        raise fail("bad_request", field=error.field or "body", problem=str(error)) from error


def _replay(body: bytes, last: MutableMapping[str, Any], receive: Receive) -> Receive:
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    if last["type"] != "http.request":
        pending = [last]

    async def next_message() -> Message:
        return pending.pop(0) if pending else await receive()

    return next_message
