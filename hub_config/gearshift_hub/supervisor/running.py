"""A deployment from its first process to its last: start all, keep all, end all, leave nothing."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable

from gearshift.model.errors import GearshiftError

from gearshift_hub.backends.local.processes import Trees
from gearshift_hub.hub.control import ControlLink
from gearshift_hub.supervisor.keeping import Kept
from gearshift_hub.supervisor.parts import MakeParts, parts
from gearshift_hub.supervisor.preflight import Ready
from gearshift_hub.supervisor.welcome import welcome

SHUTDOWN_S = 120.0

Say = Callable[[str], None]


async def run(ready: Ready, say: Say, make_parts: MakeParts = parts) -> None:
    """Start everything, stay until asked to end, end everything; raises CannotStart with nothing left."""
    asked = _signals()
    made = make_parts(ready.home, ready.file, ready.ports, ready.deployment.backend)
    kept = [Kept(part, ready.home, say) for part in made]
    try:
        if not await _unless(asked, _start(kept, say)):
            return
        for line in await welcome(ready):
            say(line)
        await _watch(kept, asked)
    finally:
        await _end(kept, ready, asked, say)


def _signals() -> asyncio.Event:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, asked.set)
    return asked


async def _start(kept: list[Kept], say: Say) -> None:
    began = time.monotonic()
    for one in kept:
        await one.start()
    for one in kept:
        await one.until_ready()
        say(f"  {one.part.name} answers ({time.monotonic() - began:.1f} s)")


async def _unless(asked: asyncio.Event, work: Awaitable[None]) -> bool:
    """Do the work unless asked to end before; whether it was done."""
    doing = asyncio.ensure_future(work)
    waiting = asyncio.create_task(asked.wait())
    try:
        await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            return False
        await doing
        return True
    finally:
        for task in (doing, waiting):
            task.cancel()
        await asyncio.gather(doing, waiting, return_exceptions=True)


async def _watch(kept: list[Kept], asked: asyncio.Event) -> None:
    await _unless(asked, _first_failure(kept))


async def _first_failure(kept: list[Kept]) -> None:
    async with asyncio.TaskGroup() as group:
        for one in kept:
            group.create_task(one.keep())


async def _end(kept: list[Kept], ready: Ready, asked: asyncio.Event, say: Say) -> None:
    """Workspaces and jobs first, through control; then the parts, the fork server last. A second Ctrl-C hurries."""
    asked.clear()
    named = {one.part.name: one for one in kept}
    control, traefik, hub = named["control"], named["traefik"], named["hub"]
    if await control.part.ready():
        say("Stopping: kernel state is saved, then workspaces and jobs end. Ctrl-C again ends them at once.")
        try:
            await _unless(asked, ControlLink(ready.home).shut_down(SHUTDOWN_S))
        except GearshiftError as error:
            say(f"Control did not stop the workspaces itself: {error.message}")
    await asyncio.gather(hub.end(), control.end())
    await traefik.end()
    if forkserver := named.get("forkserver"):
        await asyncio.to_thread(_end_trees, ready)
        await forkserver.end()
    ready.lock.close()
    say("Stopped.")


def _end_trees(ready: Ready) -> None:
    trees = Trees(ready.home)
    for tree in trees.trees():
        trees.kill(tree.name)
