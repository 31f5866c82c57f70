"""The address of an app: everything is passed on once it answers; until then, and once it has ended, a page of ours."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from http.cookies import SimpleCookie
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server_proxy.handlers import AddSlashHandler, NamedLocalProxyHandler
from tornado.web import authenticated

from gearshift.lab.apps.page import page
from gearshift.lab.apps.process import AppProcess, AppState
from gearshift.model.app import APP_PATH

SIGN_IN = ("jupyterhub-", "username-")
"""Cookies of the hub and of the server; an app gets only its own."""
READS = ("GET", "HEAD", "OPTIONS")
HEARTBEAT = 16
"""Characters of the longest."""


class AppHandler(NamedLocalProxyHandler):  # type: ignore[misc]
    """`app/...`, for whom the hub lets in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.process: AppProcess = kwargs.pop("process")
        self.used: Callable[[], None] = kwargs.pop("used")
        super().__init__(*args, **kwargs)
        self.proxy_base = APP_PATH
        self.absolute_url = self.process.app.sees_base

    @property
    def port(self) -> int:
        return self.process.port

    @property
    def unix_socket(self) -> str | None:
        return self.process.socket

    async def prepare(self, *args: Any, **kwargs: Any) -> None:
        await super().prepare(*args, **kwargs)
        if self._finished:
            return
        if self.process.state is not AppState.READY:
            await self._stand_in()
        elif self.request.method not in READS or self.request.headers.get("Sec-Fetch-Mode") == "navigate":
            self.used()

    async def _stand_in(self) -> None:
        """The page that says what is the matter."""
        self.set_status(503)
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        language = "zh" if self.request.headers.get("Accept-Language", "").startswith("zh") else "en"
        hidden = f'<input type="hidden" name="_xsrf" value="{escape(self.xsrf_token.decode())}">'
        await self.finish(page(self.process, language, hidden, self.base_url))

    def on_message(self, message: str | bytes) -> None:
        """A page that merely lies open sends heartbeats; those are no use of the app."""
        if len(message) > HEARTBEAT:
            self.used()
        super().on_message(message)

    def proxy_request_headers(self) -> Any:
        """Without what this person is signed in by."""
        headers = super().proxy_request_headers()
        headers.pop("Authorization", None)
        if "Cookie" in headers:
            cookies = SimpleCookie(headers["Cookie"])
            own = [
                f"{one.key}={one.coded_value}" for one in cookies.values() if not one.key.startswith(SIGN_IN)
            ]
            headers["Cookie"] = "; ".join(own)
        return headers


class StartAgainHandler(JupyterHandler):  # type: ignore[misc]
    """POST: a press on the page of an app that has ended."""

    def initialize(self, process: AppProcess) -> None:
        self.process = process

    @authenticated  # type: ignore[untyped-decorator]
    async def post(self) -> None:
        self.settings["gearshift_app_start"](self.process)
        self.redirect(f"{self.base_url}{APP_PATH}/")


def routes(base: str, process: AppProcess, used: Callable[[], None]) -> list[Any]:
    """What answers for an app."""
    given: dict[str, Any] = {"process": process}
    return [
        (f"{base}gearshift/app/start", StartAgainHandler, given),
        (f"{base}{APP_PATH}", AddSlashHandler),
        (f"{base}{APP_PATH}/(.*)", AppHandler, given | {"used": used}),
    ]
