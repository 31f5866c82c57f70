"""Hold, start, stop and release of one server, each repeatable: what control decides, the hub carries out."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Literal

from gearshift.model.errors import GearshiftError, fail
from jupyterhub import orm
from jupyterhub.utils import url_escape_path, url_path_join

from gearshift_hub.hub.holds import Hold, Holds
from gearshift_hub.spawners.base import AskedStart, AskedStop, GearshiftSpawner, StartRefused

SETTLE_S = 0.02


@dataclass(frozen=True)
class Server:
    """One server of one user, seen from a handler (the hub's spawn and stop are methods of handlers)."""

    handler: Any
    user: Any
    name: str

    @property
    def key(self) -> tuple[str, str]:
        return self.user.name, self.name

    @property
    def known(self) -> bool:
        return self.name in self.user.orm_spawners

    @property
    def spawner(self) -> GearshiftSpawner:
        found: GearshiftSpawner = self.user.spawners[self.name]
        return found

    @property
    def holds(self) -> Holds:
        held: Holds = self.handler.authenticator_holds()
        return held

    def busy(self, operation: str | None, kind: str) -> GearshiftError:
        return fail("busy", workspace="/".join(self.key), kind=kind, operation=operation)


_starts: dict[tuple[str, str], tuple[str, asyncio.Task[dict[str, Any]]]] = {}
"""Starts in progress, so that a repeated call joins the first."""


async def start(server: Server, operation: str, thaw: bool) -> dict[str, Any]:
    """Start (or thaw) the server and wait until it is ready; the same operation again joins or repeats the answer."""
    current = _starts.get(server.key)
    if current and not current[1].done():
        if current[0] != operation:
            raise server.busy(current[0], "start")
        return await asyncio.shield(current[1])
    task = asyncio.create_task(_start(server, operation, thaw))
    task.add_done_callback(
        lambda ended: ended.cancelled() or ended.exception()
    )  # control may be gone by then
    _starts[server.key] = (operation, task)
    return await asyncio.shield(task)


async def _start(server: Server, operation: str, thaw: bool) -> dict[str, Any]:
    hold = _own_hold(server, operation)
    _create(server)
    await settled(server)
    spawner = server.spawner
    if spawner.ready and await spawner.poll_and_notify() is None:
        if spawner.operation == operation or (thaw and hold is not None and hold.frozen is None):
            return state(server)
        raise fail("already_running", workspace="/".join(server.key))
    spawner = _clean(server)
    spawner.asked_start, spawner.driven = AskedStart(operation, thaw), True
    try:
        await server.handler.spawn_single_user(server.user, server.name, spawner.display_name)
        if spawner._spawn_future:
            await spawner._spawn_future
    except StartRefused as refused:
        raise refused.error from refused
    except TimeoutError as late:
        raise fail("start_timeout", seconds=round(spawner.http_timeout)) from late
    finally:
        spawner.driven = False
        if not spawner.ready:
            drop_tokens(server)
    if not spawner.ready:
        raise fail("start_failed", exit=spawner.exit_code)
    spawner.returning = None
    return state(server)


async def stop(server: Server, operation: str, freeze: bool, resume: bool) -> dict[str, Any]:
    """Stop or freeze the server in whatever state it is; answers only when confirmed. Gone is success."""
    hold = _own_hold(server, operation)
    if not server.known:
        return {"state": "stopped"}
    await settled(server, cancel=True)
    spawner = server.spawner
    tree = spawner.tree
    if spawner.ready:
        spawner.asked_stop, spawner.driven = AskedStop(operation, freeze), True
        spawner.will_resume = spawner.will_resume or resume
        ended = await server.handler.stop_single_user(server.user, server.name)
        await ended
    hold = server.holds.get(*server.key)
    if freeze and hold and hold.frozen:
        return {"state": "frozen"}
    if tree and await spawner.lives(tree):
        raise fail("stop_failed", workspace="/".join(server.key))
    return {"state": "stopped"}


def hold(server: Server, operation: str) -> dict[str, Any]:
    """From here to release, only this operation moves the server, and its sign-ins outlive a stop."""
    if _own_hold(server, operation) is None:
        server.holds.put(*server.key, Hold(operation=operation))
    if server.known and server.name in server.user.spawners:
        server.spawner.will_resume = True
    return {"held": operation}


async def release(server: Server, operation: str, keep: Literal["new", "old"]) -> dict[str, Any]:
    """End the hold: the loser's tree and token go. Releasing what is not held is success."""
    held = _own_hold(server, operation)
    if held is None:
        return {"released": operation}
    if held.frozen and keep == "old":
        raise fail("bad_request", field="keep", value=keep, allowed=["new"], problem="thaw it first")
    if held.frozen:
        await server.spawner.discard(held.frozen.tree)
    server.holds.drop(*server.key)
    drop_tokens(server)
    if server.known and server.name in server.user.spawners:
        server.spawner.will_resume = False
    if not (server.known and server.spawner.ready):
        _drop_sign_ins(server)
    return {"released": operation}


def state(server: Server) -> dict[str, Any]:
    """What the hub knows now."""
    spawner = server.spawner
    hold = server.holds.get(*server.key)
    ready = bool(spawner.ready)
    seen = spawner.orm_spawner.last_activity
    return {
        "owner": server.user.name,
        "name": server.name,
        "state": "ready" if ready else (spawner.pending or "stopped"),
        "ready": ready,
        "pending": spawner.pending,
        "frozen": bool(hold and hold.frozen),
        "held_by": hold.operation if hold else None,
        "operation": spawner.operation,
        "pid": spawner.pid or None,
        "port": spawner.port or None,
        "url": server.user.server_url(server.name) if ready else None,
        "tree": spawner.tree or None,
        "exit_code": spawner.exit_code,
        "last_activity": seen.replace(tzinfo=UTC).isoformat().replace("+00:00", "Z") if seen else None,
    }


async def remove(server: Server) -> None:
    """Forget a stopped server; forgetting an unknown one is success."""
    if not server.known:
        return
    spawner = server.spawner
    if spawner.active:
        raise server.busy(spawner.operation, spawner.pending or "run")
    server.holds.forget(*server.key)
    drop_tokens(server)
    _drop_sign_ins(server)
    server.handler.db.delete(spawner.orm_spawner)
    server.user.spawners.pop(server.name, None)
    server.handler.db.commit()


async def settled(server: Server, cancel: bool = False, patience_s: float = 90.0) -> None:
    """Wait until nothing is pending; with `cancel` a pending start is broken off."""
    deadline = time.monotonic() + patience_s
    while server.known and server.spawner.pending:
        spawner = server.spawner
        if cancel and spawner.pending == "spawn":
            spawner.cancelled.set()
        if time.monotonic() > deadline:
            raise server.busy(spawner.operation, str(spawner.pending))
        await asyncio.sleep(SETTLE_S)


def drop_tokens(server: Server) -> None:
    """Delete every token of this server but that of the running tree and of the frozen one."""
    hold = server.holds.get(*server.key)
    keep = {hold.frozen.token} if hold and hold.frozen else set()
    if server.known and server.spawner.ready:
        keep.add(server.spawner.api_token)
    db = server.handler.db
    kept = {found.id for token in keep if (found := orm.APIToken.find(db, token))}
    note = f"Server at {url_path_join(server.user.base_url, url_escape_path(server.name), '/')}"
    for token in db.query(orm.APIToken).filter_by(user=server.user.orm_user, note=note):
        if token.id not in kept:
            db.delete(token)
    db.commit()


def _drop_sign_ins(server: Server) -> None:
    """Delete the OAuth client of a server that is not coming back; browsers sign in anew."""
    db = server.handler.db
    client = server.spawner.oauth_client_id if server.known else None
    for found in db.query(orm.OAuthClient).filter_by(identifier=client):
        db.delete(found)
    db.commit()


def _own_hold(server: Server, operation: str) -> Hold | None:
    held = server.holds.get(*server.key)
    if held and held.operation != operation:
        raise server.busy(held.operation, "switch")
    return held


def _create(server: Server) -> None:
    try:
        server.user.get_or_create_spawner(server.name, server.name)
    except ValueError as invalid:
        raise fail("bad_name", field="name", value=server.name) from invalid


def _clean(server: Server) -> GearshiftSpawner:
    """A spawner without anything of an earlier, failed start."""
    if server.spawner._failed:
        server.user.spawners.pop(server.name)
    return server.spawner
