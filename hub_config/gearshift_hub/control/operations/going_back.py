"""The way back of a switch: the old machine untouched, thawed as it was, or started again and given what was saved.

Whichever it is, the old server is asked whether it lives before the workspace is left on it: one that died meanwhile,
frozen or not, is started again with what was saved. Where the hub does not answer, the engine waits for it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from gearshift.model.errors import GearshiftError, fail

from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.hub import HubDownError, ServerState
from gearshift_hub.control.operations import switched_server
from gearshift_hub.control.operations.settling import row_of
from gearshift_hub.control.operations.start import where
from gearshift_hub.control.operations.switched_server import name_of
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import workspaces
from gearshift_hub.control.steps import Run

log = logging.getLogger("gearshift.operations")

QUIET_S = 0.1
THAWS, STARTS = 3, 2
PAUSE_S = 1.0
"""Between two tries to have the old machine back: a proxy or a fork server that was killed is there again."""


@dataclass(frozen=True)
class Back:
    """How the old machine is there again."""

    how: str
    server: ServerState
    report: dict[str, Any] = field(default_factory=dict)


async def back_on_old(ctx: Context, run: Run) -> dict[str, Any]:
    """Undo a stop. From the moment the old server is written down, the workspace is not lost, whatever fails after."""
    if "back" not in run.data:
        back = await _untouched(ctx, run) or await _thawed(ctx, run) or await _started_again(ctx, run)
        with ctx.db.transaction() as session:
            row = row_of(session, run)
            workspaces.observed(row, where(back.server))
            row.seen_at = ctx.clock.now()
            run.record(session, back={"how": back.how, "restored": back.report})
    await _release(ctx, run)
    return {"back": run.data["back"]["how"], "result": {"back": run.data["back"]}}


async def _release(ctx: Context, run: Run) -> None:
    """The old machine is there; a hold that cannot be given up now is given up by the reconciler."""
    try:
        await ctx.hub.release(run.owner, name_of(run), run.id, "old")
    except (HubDownError, GearshiftError) as error:
        log.warning("%s: the hold of %s stays for now: %s", run.workspace, run.id, error)


async def _untouched(ctx: Context, run: Run) -> Back | None:
    """It runs: never stopped, or thawed by a control that did not live to write it down."""
    now = await _quiet(ctx, run)
    is_old = now.ready and not now.frozen and now.tree == run.data["old"]["server"]["tree"]
    if not (is_old and await _lives(ctx, run, now)):
        return None
    return Back("thawed" if run.data.get("stopped") == "frozen" else "untouched", now)


async def _thawed(ctx: Context, run: Run) -> Back | None:
    """None when there is nothing to thaw, or when what was frozen is dead. What stays frozen can be thawed yet."""
    for _ in range(THAWS):
        if not (await _quiet(ctx, run)).frozen:
            return None
        try:
            now = await ctx.hub.start(run.owner, name_of(run), run.id, thaw=True)
        except GearshiftError as error:
            log.warning("%s: the paused server does not go on: %s", run.workspace, error)
            await ctx.clock.sleep(PAUSE_S)
            continue
        return Back("thawed", now) if await _lives(ctx, run, now) else None
    return None


async def _started_again(ctx: Context, run: Run) -> Back:
    """The old machine with what was saved; should that fail, or its server die while it is given that, once more."""
    failure = fail("step_failed", step="stop", cause="the old machine's server died before it had its state")
    for _ in range(STARTS):
        try:
            now = await _start_old(ctx, run)
            return Back("started again", now, await _given_state(ctx, run, now))
        except ServerGoneError:
            log.warning("%s: %s", run.workspace, failure)
        except GearshiftError as error:
            log.warning("%s: the old machine does not start again: %s", run.workspace, error)
            failure = error
        await ctx.clock.sleep(PAUSE_S)
    raise failure


async def _given_state(ctx: Context, run: Run, now: ServerState) -> dict[str, Any]:
    """The report; what could not be loaded is told in it, and its file is kept."""
    try:
        return await switched_server.restore_into(ctx, run, now.port)
    except GearshiftError as error:
        return {"ok": False, "error": error.body()["error"]}


async def _start_old(ctx: Context, run: Run) -> ServerState:
    old = run.data["old"]
    if "launch_back" not in run.data:
        switched_server.plan_launch(ctx, run, old["spec"], old["devices"], "launch_back")
    tree = run.data["launch_back"]["tree"]
    now = await _quiet(ctx, run)
    if not (now.ready and not now.frozen and now.tree == tree and await _lives(ctx, run, now)):
        await _clear(ctx, run)
        now = await switched_server.start_server(ctx, run, "launch_back")
    if now.tree != tree:
        raise fail("step_failed", step="stop", cause="another server is running in its place")
    return now


async def _clear(ctx: Context, run: Run) -> None:
    """End what is left of a server that does not answer, a frozen one too; the doors stay held."""
    owner, name = run.owner, name_of(run)
    await ctx.hub.stop(owner, name, run.id, resume=True)
    if (await ctx.hub.state(owner, name)).frozen:
        await ctx.hub.release(owner, name, run.id, "new")
    await ctx.hub.hold(owner, name, run.id)


async def _quiet(ctx: Context, run: Run) -> ServerState:
    """The hub's view once nothing is pending: a stop that we let go of may still be under way."""
    while True:
        state = await ctx.hub.state(run.owner, name_of(run))
        if state.pending is None:
            return state
        await ctx.clock.sleep(QUIET_S)


async def _lives(ctx: Context, run: Run, now: ServerState) -> bool:
    """Only a server that refuses to speak is dead; one that is slow, or unwell, still has everything."""
    if now.port is None:
        return False
    asking = ctx.servers.health(run.owner, name_of(run), now.port)
    try:
        await within(ctx.clock, ctx.deployment.deadlines.verify, asking)
    except ServerGoneError:
        return False
    except (DeadlineError, GearshiftError) as error:
        log.warning("%s: the old server is there but says: %s", run.workspace, error)
    return True
