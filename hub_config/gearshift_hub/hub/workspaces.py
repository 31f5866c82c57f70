"""The hub's routes for control (hold, start, stop, release, state), and the hub's own server routes under a hold."""

from __future__ import annotations

from typing import Any

from gearshift.model.errors import GearshiftError, fail
from jupyterhub.apihandlers.base import APIHandler
from jupyterhub.apihandlers.users import UserAPIHandler, UserServerAPIHandler
from jupyterhub.scopes import needs_scope
from tornado.web import HTTPError

from gearshift_hub.hub import servers
from gearshift_hub.hub.holds import Holds, holds_of
from gearshift_hub.hub.servers import Server
from gearshift_hub.scopes import HUB

_USER_AND_SERVER = r"/api/gearshift/workspaces/([^/]+)/([^/]+)"


class _Holding(APIHandler):  # type: ignore[misc]
    """A route that only the holder of the scope `custom:gearshift:hub`, control, may call."""

    async def prepare(self) -> None:
        await super().prepare()
        if not self.has_scope(HUB):
            raise HTTPError(403, "Only control may call this.")

    def authenticator_holds(self) -> Holds:
        return holds_of(self.authenticator.gearshift_home)

    def refuse(self, error: GearshiftError) -> None:
        self.set_status(error.status)
        self.write(error.body())


class Action(_Holding):
    """POST start, stop, hold or release of one server."""

    async def post(self, user_name: str, server_name: str, action: str) -> None:
        try:
            self.write(await self._act(user_name, server_name, action))
        except GearshiftError as error:
            self.refuse(error)

    async def _act(self, user_name: str, server_name: str, action: str) -> dict[str, Any]:
        body = self.get_json_body() or {}
        operation = body.get("operation")
        if not isinstance(operation, str) or not operation:
            raise fail(
                "bad_request", field="operation", value=operation, problem="an operation's id is needed"
            )
        user = self.find_user(user_name)
        if user is None and action == "start":
            user = self.user_from_username(user_name)
        if user is None:
            return {"state": "stopped"}
        server = Server(self, user, server_name)
        if action == "start":
            return await servers.start(server, operation, bool(body.get("thaw")))
        if action == "stop":
            return await servers.stop(server, operation, bool(body.get("freeze")), bool(body.get("resume")))
        if action == "hold":
            return servers.hold(server, operation)
        keep = body.get("keep")
        if keep not in ("new", "old"):
            raise fail("bad_request", field="keep", value=keep, allowed=["new", "old"], problem="one of two")
        return await servers.release(server, operation, keep)


class State(_Holding):
    """GET the state of one server, DELETE its record."""

    async def get(self, user_name: str, server_name: str) -> None:
        user = self.find_user(user_name)
        if user is None or server_name not in user.orm_spawners:
            self.refuse(fail("unknown_workspace", value=f"{user_name}/{server_name}"))
            return
        self.write(servers.state(Server(self, user, server_name)))

    async def delete(self, user_name: str, server_name: str) -> None:
        user = self.find_user(user_name)
        try:
            if user is not None:
                await servers.remove(Server(self, user, server_name))
        except GearshiftError as error:
            self.refuse(error)
            return
        self.set_status(204)


class States(_Holding):
    """GET all servers that run, start, stop, or are frozen."""

    async def get(self) -> None:
        found = [
            servers.state(Server(self, user, name))
            for user in self.users.values()
            for name in list(user.orm_spawners)
            if name
        ]
        self.write({"workspaces": found})


class OwnDoor(UserServerAPIHandler):  # type: ignore[misc]
    """JupyterHub's own start and stop of a server: refused during a switch, otherwise never left pending."""

    @needs_scope("start:servers")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str, server_name: str = "") -> None:
        if await self._free(user_name, server_name, cancel=False):
            await super().post(user_name, server_name)

    @needs_scope("delete:servers")  # type: ignore[untyped-decorator]
    async def delete(self, user_name: str, server_name: str = "") -> None:
        if await self._free(user_name, server_name, cancel=True):
            await super().delete(user_name, server_name)

    def authenticator_holds(self) -> Holds:
        return holds_of(self.authenticator.gearshift_home)

    async def _free(self, user_name: str, server_name: str, cancel: bool) -> bool:
        user = self.find_user(user_name)
        if user is None:
            return True
        server = Server(self, user, server_name)
        held = self.authenticator_holds().get(user_name, server_name)
        if held:
            error = server.busy(held.operation, "switch")
            self.set_status(error.status)
            self.write({"status": error.status, "message": error.message, **error.body()})
            return False
        if server_name and (cancel or (server.known and server.spawner.pending == "stop")):
            await servers.settled(server, cancel=cancel)
        return True


class People(UserAPIHandler):  # type: ignore[misc]
    """JupyterHub's own route of one user; control adds people by it, and who is an admin the sign-in says."""

    @needs_scope("admin:users")  # type: ignore[untyped-decorator]
    async def post(self, user_name: str) -> None:
        if not self.has_scope(HUB):
            await super().post(user_name)
            return
        if self.find_user(user_name) is not None:
            raise HTTPError(409, f"User {user_name} already exists")
        user = self.user_from_username(user_name)
        self.set_status(201)
        self.write(self.user_model(user))


def handlers() -> list[tuple[str, type[APIHandler]]]:
    """Routes below the hub's prefix."""
    return [
        (r"/api/gearshift/workspaces", States),
        (rf"{_USER_AND_SERVER}/(start|stop|hold|release)", Action),
        (rf"{_USER_AND_SERVER}/state", State),
        (_USER_AND_SERVER, State),
        (r"/api/users/([^/]+)", People),
        (r"/api/users/([^/]+)/servers/([^/]*)", OwnDoor),
    ]
