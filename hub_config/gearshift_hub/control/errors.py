"""The one place where a domain error becomes an HTTP answer; 500 is only ever a bug of ours."""

from __future__ import annotations

import logging
import secrets

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from gearshift.model.errors import GearshiftError, fail
from starlette.exceptions import HTTPException

from gearshift_hub.control.hub import HubDownError

log = logging.getLogger("gearshift.control")


class LoginRequired(Exception):
    """A page was asked for without a session."""

    def __init__(self, url: str, cookie: tuple[str, str], path: str) -> None:
        super().__init__("sign in first")
        self.url = url
        self.cookie = cookie
        self.path = path


def install(app: FastAPI) -> None:
    """Teach the app how our errors look."""
    app.add_exception_handler(GearshiftError, _domain)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(LoginRequired, _login)
    app.add_exception_handler(HubDownError, _hub_down)
    app.add_exception_handler(Exception, _bug)


def _answer(error: GearshiftError) -> JSONResponse:
    return JSONResponse(error.body(), status_code=error.status)


async def _domain(_request: Request, error: Exception) -> Response:
    assert isinstance(error, GearshiftError)
    return _answer(error)


async def _invalid(_request: Request, error: Exception) -> Response:
    """The first field that does not fit; what was sent is repeated only when it is short and plain."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    parts = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    value = first.get("input")
    shown = value if isinstance(value, str | int | float | bool) else None
    expected = first.get("ctx", {}).get("expected")
    allowed = [expected] if isinstance(expected, str) else None
    return _answer(
        fail(
            "bad_request", field=".".join(parts) or "body", value=shown, allowed=allowed, problem=first["msg"]
        )
    )


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return _answer(fail("not_found", value=request.url.path))
    made = fail("bad_request", field="request", value=request.method, problem=str(error.detail))
    return JSONResponse(made.body(), status_code=error.status_code, headers=error.headers)


async def _login(_request: Request, error: Exception) -> Response:
    assert isinstance(error, LoginRequired)
    answer = RedirectResponse(error.url, status_code=302)
    name, value = error.cookie
    answer.set_cookie(name, value, max_age=600, path=error.path, httponly=True, samesite="lax")
    return answer


async def _hub_down(_request: Request, _error: Exception) -> Response:
    return _answer(fail("control_unavailable"))


async def _bug(request: Request, error: Exception) -> Response:
    reference = secrets.token_hex(4)
    log.error("bug %s: %s %s", reference, request.method, request.url.path, exc_info=error)
    return _answer(fail("internal", reference=reference))
