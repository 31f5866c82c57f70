"""The base of our routes: who may call, JSON in, JSON out, our errors with their code and both sentences."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, cast

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError, authenticated

from gearshift.model import foreign_json
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.foreign_json import ForeignJsonError

SMALL = 1 << 20
P = ParamSpec("P")


def signed_in(method: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Only for callers whom the hub knows and lets in; every method of our routes has it."""
    return cast("Callable[P, Awaitable[None]]", authenticated(authorized(method)))


class Answering(APIHandler):  # type: ignore[misc]
    """Subclasses declare `@signed_in` on each method."""

    auth_resource = "gearshift"
    _track_activity = False

    def body(self, limit: int = SMALL) -> dict[str, Any]:
        """The JSON object that was sent; nothing sent is an empty one."""
        raw: bytes = self.request.body
        if len(raw) > limit:
            raise fail("too_large", field="body", size=len(raw), limit=limit)
        try:
            found = foreign_json.read(raw) if raw.strip() else {}
        except ForeignJsonError as error:
            shown = raw[:80].decode(errors="replace")
            raise fail("bad_request", field="body", value=shown, problem=str(error)) from error
        if not isinstance(found, dict):
            raise fail("bad_request", field="body", value=found, problem="no JSON object")
        return found

    def log_exception(self, *error: Any) -> None:
        """A refusal is an answer, not a fault: one line, no traceback."""
        value = error[1]
        if isinstance(value, GearshiftError):
            self.log.info("%s %s: %s", self.request.method, self.request.path, value.code)
        else:
            super().log_exception(*error)

    def write_error(self, status_code: int, **facts: Any) -> None:
        value = facts.get("exc_info", (None, None, None))[1]
        if not isinstance(value, GearshiftError):
            value = _as_ours(value, self.request.path)
        self.set_status(value.status)
        self.finish(json.dumps(value.body()))


def _as_ours(error: BaseException | None, path: str) -> GearshiftError:
    """What tornado and jupyter_server refuse by themselves, said in our form."""
    if isinstance(error, HTTPError) and error.status_code < 500:
        if error.status_code == 404:
            return fail("not_found", value=path)
        if error.status_code in (401, 403):
            return GearshiftError(
                "forbidden", error.status_code, str(error.log_message or "Not allowed."), "无权访问。"
            )
        return GearshiftError(
            "bad_request",
            error.status_code,
            str(error.log_message or error.reason or "Refused."),
            "请求被拒绝。",
        )
    return fail("internal", reference="lab")
