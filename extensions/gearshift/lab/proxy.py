"""Passes allowed calls of the page on to control with the server's own token, which never leaves this process."""

from __future__ import annotations

from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import httpx
from tornado.iostream import StreamClosedError

from gearshift.lab.allowed import upstream_path
from gearshift.lab.answering import SMALL, Answering, signed_in
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.in_flight import InFlight
from gearshift.lab.press import HEADER, proof_of_press
from gearshift.model.errors import fail

LARGEST_BUNDLE = 64 << 20
_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
_PASSED_ON = ("Content-Type", "Accept", "Accept-Language", "If-None-Match")
_PASSED_BACK = ("Content-Type", "Content-Disposition", "ETag", "Location", "Retry-After")


class ControlClient:
    """The one connection pool to control; made when it is first used, since a forked server must not inherit one."""

    def __init__(self, environment: LabEnvironment) -> None:
        self._environment = environment
        self._http: httpx.AsyncClient | None = None

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: dict[str, str],
        query: str = "",
        content: bytes | None = None,
    ) -> Any:
        """An httpx stream of the answer; `control_unavailable` outside a hub."""
        url = self._environment.control_url
        if url is None:
            raise fail("control_unavailable")
        if self._http is None:
            self._http = httpx.AsyncClient(timeout=_TIMEOUT, trust_env=False, follow_redirects=False)
            self._http.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        own = {"Authorization": f"token {self._environment.token}"}
        address = f"{url}/api/v1/{path}" + (f"?{query}" if query else "")
        return self._http.stream(method, address, headers={**headers, **own}, content=content)


class _Proxying(Answering):
    def initialize(self, control: ControlClient) -> None:
        self.control = control

    def _query(self) -> str:
        """Without what was meant for this server: credentials must not travel in addresses."""
        pairs = parse_qsl(self.request.query, keep_blank_values=True)
        return urlencode([(name, value) for name, value in pairs if name not in ("token", "_xsrf")])

    async def pass_on(self, method: str, path: str, headers: dict[str, str], content: bytes | None) -> None:
        """The answer as it comes, piece by piece."""
        try:
            async with self.control.request(
                method, path, headers=headers, query=self._query(), content=content
            ) as answer:
                self.set_status(answer.status_code)
                for name in _PASSED_BACK:
                    if name in answer.headers:
                        self.set_header(name, answer.headers[name])
                self.set_header("Cache-Control", "no-store")
                if answer.status_code != 204:
                    async for piece in answer.aiter_bytes():
                        self.write(piece)
                        await self.flush()
        except httpx.HTTPError as error:
            if self._headers_written:
                raise
            raise fail("control_unavailable", cause=type(error).__name__) from error
        except StreamClosedError:
            return  # the page went away; nobody is left to tell
        await self.finish()


class ProxyHandler(_Proxying):
    """`gearshift/api/...`"""

    def initialize(self, control: ControlClient, in_flight: InFlight) -> None:  # type: ignore[override]
        super().initialize(control)
        self.in_flight = in_flight

    async def _proxy(self) -> None:
        raw = self.request.path.partition("/gearshift/api/")[2]
        path = upstream_path(self.request.method, raw)
        limit = LARGEST_BUNDLE if path == "jobs/bundles" else SMALL
        if len(self.request.body) > limit:
            raise fail("too_large", field="body", size=len(self.request.body), limit=limit)
        headers = {name: self.request.headers[name] for name in _PASSED_ON if name in self.request.headers}
        proof = await proof_of_press(self)
        if proof:
            headers[HEADER] = proof
        await self.pass_on(self.request.method, path, headers, self.request.body or None)

    @signed_in
    async def get(self, _path: str) -> None:
        await self._proxy()

    @signed_in
    async def post(self, _path: str) -> None:
        with self.in_flight.answering():
            await self._proxy()

    @signed_in
    async def put(self, _path: str) -> None:
        await self._proxy()

    @signed_in
    async def patch(self, _path: str) -> None:
        await self._proxy()

    @signed_in
    async def delete(self, _path: str) -> None:
        await self._proxy()


class TicketHandler(_Proxying):
    """`gearshift/ticket`: a read-only credential for the events of this workspace, and only of this one."""

    def initialize(self, control: ControlClient, environment: LabEnvironment) -> None:  # type: ignore[override]
        super().initialize(control)
        self.environment = environment

    @signed_in
    async def post(self) -> None:
        if self.environment.control_url is None:
            raise fail("control_unavailable")
        path = upstream_ticket(self.environment)
        await self.pass_on("POST", path, {}, None)


def upstream_ticket(environment: LabEnvironment) -> str:
    """Not in the table of the proxy: a page gets tickets for its own workspace only."""
    owner, workspace = (quote(name, safe="@~") for name in (environment.owner, environment.workspace))
    return f"workspaces/{owner}/{workspace}/ticket"
