"""A whole control in memory: its two apps on a real database, around a fake hub, box and clock."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from gearshift.model.launch import LaunchPlan
from gearshift.model.operation import Operation
from gearshift_hub.backends.base import Able, Backend
from gearshift_hub.control.app import internal_app, public_app
from gearshift_hub.control.auth import SESSION_COOKIE, XSRF_HEADER, Callers
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.events import EventBus
from gearshift_hub.control.operations import flows, hub_doors, journal
from gearshift_hub.control.operations.engine import Engine
from gearshift_hub.control.reconcile import idle as idle_rule
from gearshift_hub.control.reconcile import rules, servers
from gearshift_hub.control.sealing import Sealer
from gearshift_hub.control.services import accounts
from gearshift_hub.deployment import Deployment, load
from gearshift_hub.paths import Home
from gearshift_hub.scopes import BROWSER, EVERYBODY, PROPOSE, READ

from gearshift_testing.fake_servers import FakeServers
from gearshift_testing.fakes import FakeBox, FakeClock, FakeHub, idle

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For tests whose outcome has nothing to do with the kind of database."""

DEPLOYMENT = Path(__file__).with_name("deployment.toml")
ORIGIN = "http://control"


class Control:
    """One control; `again()` is what comes up after a kill -9: the same database and world, a new process."""

    def __init__(
        self,
        database_url: str,
        *,
        deployment: Deployment | None = None,
        able: Able | None = None,
        base_url: str = "/",
        like: Control | None = None,
        database: type[Database] = Database,
    ) -> None:
        self.database_url = database_url
        self.deployment = deployment or (like.deployment if like else load(DEPLOYMENT))
        self.base_url = base_url
        self.clock = like.clock if like else FakeClock()
        self.hub = like.hub if like else FakeHub(self.clock)
        self.servers = like.servers if like else FakeServers(self.hub)
        self.folder = like.folder if like else tempfile.TemporaryDirectory(prefix="gearshift-test-")
        root = Path(self.folder.name)
        self.box = like.box if like else FakeBox(self.deployment, str(root), able)
        self.db = database(database_url)
        self._apps: dict[str, FastAPI] = like._apps if like else {}
        self.ctx = Context(
            deployment=self.deployment,
            home=Home(root),
            base_url=base_url,
            control_url=f"http://127.0.0.1:1{base_url}services/gearshift",
            secret="control-secret",
            state_secret="state-secret",
            db=self.db,
            clock=self.clock,
            hub=self.hub,
            servers=self.servers,
            backend=Backend(box=self.box),
            events=EventBus(self.db, self.clock),
        )
        self.engine: Engine = flows.install(self.ctx)
        self.hub.launch = self._launch

    @cached_property
    def public(self) -> FastAPI:
        return self._app(public_app)

    @cached_property
    def internal(self) -> FastAPI:
        return self._app(internal_app)

    def _app(self, build: Callable[[Context], FastAPI]) -> FastAPI:
        """Built once: the routes of each control that comes up are the same, and building them takes long."""
        app = self._apps.get(build.__name__) or build(self.ctx)
        app.state.ctx, app.state.callers = self.ctx, Callers()
        self._apps[build.__name__] = app
        return app

    async def _launch(self, owner: str, name: str, operation: str) -> LaunchPlan:
        """What a spawner asks."""
        return await hub_doors.launch(self.ctx, self.engine, owner, name, {}, operation)

    # -- callers -----------------------------------------------------------------------------------

    async def add_person(self, name: str, *, admin: bool = False) -> Person:
        await accounts.add(self.ctx, name, admin=admin)
        return self.person(name, admin=admin)

    def person(self, name: str, *, admin: bool = False) -> Person:
        scopes = [*EVERYBODY, *(["custom:gearshift:admin"] if admin else [])]
        return Person(self, name, self.hub.give_token(f"person-{name}", name, scopes))

    def workspace_token(self, owner: str, name: str) -> Person:
        """The token inside a workspace's server."""
        scopes = [READ, PROPOSE, f"access:servers!server={owner}/{name}", f"read:users:name!user={owner}"]
        return Person(self, owner, self.hub.give_token(f"server-{owner}-{name}", owner, scopes))

    def page_token(self, owner: str, name: str) -> str:
        """The token of a page's sign-in to a workspace, which its server sends along as the proof of a press."""
        scopes = [f"access:servers!server={owner}/{name}", f"read:users:name!user={owner}"]
        return self.hub.give_token(f"page-{owner}-{name}", owner, scopes, signed_in=True)

    def browser(self, name: str) -> Browser:
        token = self.hub.give_token(f"browser-{name}", name, list(BROWSER[:3]))
        return Browser(self, name, token)

    def inside(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.internal), base_url=ORIGIN)

    def outside(self, headers: Mapping[str, str] | None = None) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.public, raise_app_exceptions=False)
        return httpx.AsyncClient(
            transport=transport,
            base_url=f"{ORIGIN}{self.base_url}services/gearshift",
            headers=dict(headers or {}),
        )

    # -- time and faults ---------------------------------------------------------------------------

    async def look(self) -> None:
        """One round of the reconcile loop."""
        self.engine.resume()
        await servers.compare(self.ctx)
        await idle()

    async def rules(self) -> None:
        await rules.charge(self.ctx)
        await rules.stop_what_must(self.ctx)
        await idle_rule.look(self.ctx)

    async def ended(self, operation: str, *, step_s: float = 0.5, steps: int = 400) -> Operation:
        """The operation once it has ended, letting time pass as long as it takes."""
        for _ in range(steps):
            await idle()
            op = self.engine.read(operation).op
            if op.state.is_final:
                return op
            await self.clock.advance(step_s)
        raise AssertionError(f"{operation} is still at {op.step}")

    async def again(self, database: type[Database] = Database) -> Control:
        """After a kill: nothing of the old process writes any more; the new one goes on."""
        await self.engine.close()
        self.db.close()
        new = Control(self.database_url, base_url=self.base_url, like=self, database=database)
        new.engine.resume()
        return new

    async def settled(self) -> None:
        """Until no operation is under way, letting time pass as long as it takes."""
        for _ in range(400):
            await idle()
            with self.db.transaction() as session:
                if not journal.unfinished(session):
                    return
            await self.clock.advance(0.5)
        raise AssertionError("an operation does not end")

    async def close(self) -> None:
        await self.engine.close()
        self.db.close()
        self.folder.cleanup()


class Person:
    """Somebody with a token, and the calls that tests make most."""

    def __init__(self, control: Control, name: str, token: str) -> None:
        self.control = control
        self.name = name
        self.token = token
        self.headers = {"Authorization": f"token {token}"}

    async def get(self, path: str, **params: Any) -> httpx.Response:
        async with self.control.outside(self.headers) as client:
            return await client.get(f"/api/v1{path}", params=params)

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        async with self.control.outside({**self.headers, **headers}) as client:
            return await client.post(f"/api/v1{path}", json=body)

    async def plan(self, kind: str, **body: Any) -> dict[str, Any]:
        answer = await self.post("/plans", {"kind": kind, **body})
        assert answer.status_code == 201, answer.text
        plan: dict[str, Any] = answer.json()
        return plan

    async def confirm(self, plan: Mapping[str, Any]) -> httpx.Response:
        return await self.post(f"/plans/{plan['id']}/confirm", {"terminal": True})

    async def begin(self, kind: str, **body: Any) -> dict[str, Any]:
        """Plan and confirm; returns the operation as it began."""
        answer = await self.confirm(await self.plan(kind, **body))
        assert answer.status_code == 202, answer.text
        operation: dict[str, Any] = answer.json()
        return operation

    async def do(self, kind: str, **body: Any) -> dict[str, Any]:
        """The same, up to its end."""
        operation = await self.begin(kind, **body)
        return (await self.control.ended(operation["id"])).model_dump(mode="json")

    async def start(self, name: str = "work", machine: str = "cpu-small", **spec: Any) -> dict[str, Any]:
        wanted = {"image": "pytorch", "machine": machine, **spec}
        return await self.do("start", name=name, spec=wanted)

    async def stop(self, name: str = "work") -> dict[str, Any]:
        return await self.do("stop", workspace=f"{self.name}/{name}")

    async def switch(self, machine: str, name: str = "work", **body: Any) -> dict[str, Any]:
        return await self.do("switch", workspace=f"{self.name}/{name}", machine=machine, **body)

    async def workspace(self, name: str = "work") -> dict[str, Any]:
        answer = await self.get(f"/workspaces/{self.name}/{name}")
        assert answer.status_code == 200, answer.text
        record: dict[str, Any] = answer.json()
        return record


class Browser:
    """A signed-in browser: our session cookie, and the XSRF token of its pages."""

    def __init__(self, control: Control, name: str, token: str, session: str = "session-1") -> None:
        sealer: Sealer = control.public.state.sealer
        self.control = control
        self.name = name
        self.session = session
        self.cookie = f"{SESSION_COOKIE}={sealer.seal({'id': session, 'token': token})}"
        self.xsrf = sealer.xsrf(session)

    async def request(
        self, method: str, path: str, *, xsrf: str | None = None, **rest: Any
    ) -> httpx.Response:
        headers = {"Cookie": self.cookie, **({XSRF_HEADER: xsrf} if xsrf is not None else {})}
        async with self.control.outside(headers) as client:
            return await client.request(method, path, **rest)
