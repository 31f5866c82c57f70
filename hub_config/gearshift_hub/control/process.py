"""Both doors of control in one process and one event loop: the public one on a port, the internal one on a socket."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from gearshift_hub.backends.base import Backend
from gearshift_hub.backends.chosen import chosen
from gearshift_hub.control.app import internal_app, plug, public_app
from gearshift_hub.control.clock import SystemClock
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.db.migrate import upgrade
from gearshift_hub.control.events import EventBus
from gearshift_hub.control.hub_http import HttpHub
from gearshift_hub.control.operations import flows
from gearshift_hub.control.operations.engine import Engine
from gearshift_hub.control.reconcile import idle, rules, servers, waitlist
from gearshift_hub.control.reconcile.line_news import LineNews
from gearshift_hub.control.reconcile.loops import Every, Loops
from gearshift_hub.control.servers_http import HttpServers
from gearshift_hub.control.services import jobs, notices, states
from gearshift_hub.control.settings import Settings
from gearshift_hub.control.writer_lock import WriterLock

log = logging.getLogger("gearshift.control")

Install = Callable[[Context], Engine]
"""Gives a control its kinds of operation."""

GOODBYE_S = 3
KEPT_OPEN_S = 120
"""Longer than any caller keeps an idle connection (traefik 90 s, httpx 5 s): whoever closes first must be the caller, or a
request meets a connection that is being closed."""
LOOK_S = 3.0
RULES_S = 15.0
NOTICES_S = 2.0
LINE_S = 1.0
CHARGE_S = 20.0
FORGET_S = 3600.0


async def serve(settings: Settings, install: Install = flows.install) -> None:
    """Take the lock, migrate, go on with what was left, serve until SIGTERM or SIGINT."""
    db = Database(settings.database_url)
    lock = WriterLock.take(settings.home.state / "control.lock", db.engine)
    try:
        upgrade(db.engine, settings.home.state / "backups")
        ctx = build(settings, db)
        await _run(ctx, settings, lock, install)
    finally:
        db.close()
        lock.release()


def build(settings: Settings, db: Database) -> Context:
    """The Context of a real deployment on this box."""
    clock = SystemClock()
    ports, secrets = settings.ports, settings.secrets
    on_cluster = settings.deployment.backend == "kubernetes"
    reach = settings.deployment.kubernetes.reach if on_cluster else None
    return Context(
        deployment=settings.deployment,
        home=settings.home,
        base_url=ports.base_url,
        control_url=ports.door(reach) if reach else ports.control_url,
        secret=secrets.control_secret,
        state_secret=secrets.state_secret,
        db=db,
        clock=clock,
        hub=HttpHub(ports.hub_api, secrets.control_hub_token),
        servers=HttpServers(ports.base_url, secrets.state_secret, ports.port if on_cluster else None),
        backend=Backend(box=chosen(settings.home, settings.deployment)),
        events=EventBus(db, clock),
    )


async def _run(ctx: Context, settings: Settings, lock: WriterLock, install: Install) -> None:
    engine = install(ctx)
    plug(ctx)
    resumed = engine.resume()
    log.info("going on with %d operations", resumed)
    doors = [
        _Door(public_app(ctx), _loopback(settings.ports.control_port)),
        _Door(internal_app(ctx), _unix(settings.home.control_socket)),
    ]
    loops = Loops(ctx)
    loops.start(_work(ctx, lock, doors))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _ask_to_end, ctx, doors)
    try:
        await asyncio.gather(*(door.serve(sockets=[door.socket]) for door in doors))
    finally:
        await loops.stop()
        await engine.close()


def _work(ctx: Context, lock: WriterLock, doors: list[_Door]) -> list[Every]:
    async def keep_lock() -> None:
        if not lock.still_held():
            log.error("the lock on the database is lost; ending, so that there is one writer")
            _ask_to_end(ctx, doors)

    async def look() -> None:
        ctx.operations.resume()
        await servers.compare(ctx)

    return [
        Every("lock", LOOK_S, keep_lock),
        Every("servers", LOOK_S, look),
        Every("charges", CHARGE_S, lambda: rules.charge(ctx)),
        Every("rules", RULES_S, lambda: rules.stop_what_must(ctx)),
        Every("idle", idle.pause_s(ctx.deployment.idle), lambda: idle.look(ctx)),
        Every("waitlist", LINE_S, lambda: waitlist.look(ctx)),
        Every("line news", LINE_S, LineNews(ctx).look),
        Every("notices", NOTICES_S, lambda: notices.deliver(ctx)),
        Every("job files", FORGET_S, lambda: jobs.forget_files(ctx)),
        Every("states", FORGET_S, lambda: states.prune(ctx)),
        Every("events", FORGET_S, lambda: rules.forget(ctx)),
    ]


def _ask_to_end(ctx: Context, doors: list[_Door]) -> None:
    ctx.events.close()
    for door in doors:
        door.should_exit = True


class _Door(uvicorn.Server):
    """A server on a socket that is open already; signals are ours, access is not logged (codes are in addresses)."""

    def __init__(self, app: FastAPI, bound: socket.socket) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=GOODBYE_S,
                timeout_keep_alive=KEPT_OPEN_S,
                server_header=False,
            )
        )
        self.socket = bound

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _loopback(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    return bound


def _unix(path: Path) -> socket.socket:
    """0600 from its first moment; one that a dead predecessor left is replaced."""
    with suppress(FileNotFoundError):
        path.unlink()
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(path))
    path.chmod(0o600)
    return bound
