"""Servers as processes of this box: forked by the fork server, waited for by their port, ended as a whole tree."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from gearshift.model.app import APP_PORT_ENV
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.launch import LaunchPlan

from gearshift_hub.backends.local.processes import Handle, PortsStayOpen, Trees
from gearshift_hub.backends.local.processes import StartRefused as ForkRefused
from gearshift_hub.hub.holds import Frozen
from gearshift_hub.spawners.base import GearshiftSpawner
from gearshift_hub.spawners.environment import server_argv, server_env
from gearshift_hub.spawners.listening import answers, free_port

T = TypeVar("T")

POLL_S = 0.02
LOOK_S = 0.1
"""A connection attempt is cheap, a look at the process less so."""
THAW_S = 30.0
FORK_SERVER_S = 20.0
NOT_STARTED = 126
"""What a shell says of a command that it could not execute."""


class GearshiftLocalSpawner(GearshiftSpawner):
    """Start, poll, freeze and end through the box's Trees; each call runs in a thread, none blocks the hub."""

    @property
    def trees(self) -> Trees:
        return Trees(self.gearshift_home)

    async def launch(self, plan: LaunchPlan) -> str:
        self.port = free_port()
        self.ip = "127.0.0.1"
        self.remember()
        trees = self.trees
        env = server_env(self.get_env(), plan, self.gearshift_home, trees.runtime_dir(plan))
        ports = _app_ports(plan)
        env[APP_PORT_ENV] = " ".join(map(str, ports))
        try:
            self.pid = (await self._fork(plan, env, ports)).pid
            await self._answering(plan.deadlines.start, plan.env.get("GEARSHIFT_MACHINE"))
        except BaseException:
            await asyncio.shield(self.end(0.0))
            raise
        return self._url()

    async def _fork(self, plan: LaunchPlan, env: dict[str, str], ports: list[int]) -> Handle:
        """A fork server that is being started again is waited for; any other refusal ends the start."""
        deadline = time.monotonic() + min(plan.deadlines.start, FORK_SERVER_S)
        while True:
            try:
                return await self._call(
                    lambda: self.trees.start_server(plan, env, server_argv(plan), self.port, ports)
                )
            except PortsStayOpen as open_to_all:
                raise fail("app_port_open", why=str(open_to_all)) from open_to_all
            except (ConnectionRefusedError, FileNotFoundError) as away:
                if time.monotonic() > deadline or self.cancelled.is_set():
                    raise self._refused(plan, away) from away
            except (OSError, ForkRefused) as refused:
                raise self._refused(plan, refused) from refused
            await asyncio.sleep(LOOK_S)

    def _refused(self, plan: LaunchPlan, why: Exception) -> GearshiftError:
        self.log.error("The fork server refused %s: %s", plan.tree, why)
        return fail("start_failed", machine=plan.env.get("GEARSHIFT_MACHINE"), exit=NOT_STARTED)

    async def thaw(self, frozen: Frozen) -> str:
        if not await self._call(lambda: self.trees.thaw(frozen.tree)):
            raise fail("restore_failed", why="the paused server is gone")
        self.port, self.tree = frozen.port, frozen.tree
        await self._answering(THAW_S, None)
        return self._url()

    async def freeze(self) -> bool:
        return await self._call(lambda: self.trees.freeze(self.tree))

    async def end(self, grace_s: float) -> None:
        if not self.tree:
            return
        await self._call(lambda: self.trees.stop(self.tree, grace_s))

    async def discard(self, tree: str) -> None:
        await self._call(lambda: self.trees.kill(tree))

    async def lives(self, tree: str) -> bool:
        return await self._call(lambda: self.trees.alive(tree))

    async def look(self) -> int | None:
        """None while it runs; what cannot be asked is taken as running, never as gone."""
        if not self.tree:
            return 0
        try:
            code = await self._call(lambda: self.trees.exit_code(self.tree))
            alive = code is None and await self._call(lambda: self.trees.alive(self.tree))
        except OSError as unknown:
            self.log.warning("The fork server does not answer (%s)", unknown)
            return None
        if alive:
            return None
        self.exit_code = code
        await self.end(0.0)  # its kernels may have outlived it
        return 0 if code is None else code

    async def _answering(self, patience_s: float, machine: str | None) -> None:
        deadline = time.monotonic() + patience_s
        look = 0.0
        while not await answers(self.port):
            now = time.monotonic()
            if self.cancelled.is_set():
                raise fail("cancelled", by="a stop")
            if now > deadline:
                raise fail("start_timeout", machine=machine, seconds=round(patience_s))
            if now >= look:
                await self._not_dead(machine)
                look = now + LOOK_S
            await asyncio.sleep(POLL_S)

    async def _not_dead(self, machine: str | None) -> None:
        code = await self._call(lambda: self.trees.exit_code(self.tree))
        if code is not None:
            self.exit_code = code
            raise fail("start_failed", machine=machine, exit=code)

    def _url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _call(self, what: Callable[[], T]) -> T:
        return await asyncio.to_thread(what)


def _app_ports(plan: LaunchPlan) -> list[int]:
    """The port of an app that cannot listen on a unix socket."""
    app = plan.image.app
    return [free_port()] if app is not None and app.listens == "port" else []
