"""The idle rule at work: asks each running workspace what it does, moves its clock, warns, and acts when that is due."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.idle import (
    Activity,
    Cause,
    IdleAction,
    IdleClock,
    Policy,
    Verdict,
    after,
    judge,
    observe,
)
from gearshift.model.job import JobState
from gearshift.model.operation import OperationKind
from gearshift.model.workspace import WorkspaceState
from pydantic import ValidationError
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.idle import IdleRow
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations import journal, switch_plan
from gearshift_hub.control.reconcile.servers import ACTOR
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import idle as idle_service
from gearshift_hub.control.services import notices, workspaces
from gearshift_hub.control.services.plans import Plan
from gearshift_hub.deployment.model import Idle

log = logging.getLogger("gearshift.reconcile")

ASK_S = 10.0
LONGEST_PAUSE_S = 15.0
SHORTEST_PAUSE_S = 0.5
AGAIN = timedelta(minutes=10)
"""After a stop or drop that was refused, such as one for which there is no room now."""
RUNNING = tuple(state for state in JobState if state.holds_lease)


def pause_s(idle: Idle) -> float:
    """How often to look: often enough that a warning comes in time."""
    shortest = min(idle.warn_before, idle.end_grace, idle.min_hours * 3600)
    return max(SHORTEST_PAUSE_S, min(LONGEST_PAUSE_S, shortest / 4))


async def look(ctx: Context) -> None:
    """One look at every workspace that is ready; one that answers slowly holds up no other."""
    with ctx.db.transaction() as session:
        rows = workspaces.in_states(session, [WorkspaceState.READY])
        found = [(row.owner, row.name, row.port) for row in rows if not journal.active(session, row.id)]
    await asyncio.gather(*(_one(ctx, owner, name, port) for owner, name, port in found))


async def _one(ctx: Context, owner: str, name: str, port: int | None) -> None:
    activity = await _ask(ctx, owner, name, port)
    with ctx.db.transaction() as session:
        row = workspaces.find(session, owner, name)
        if (
            row is None
            or row.state != WorkspaceState.READY
            or row.port != port
            or journal.active(session, row.id)
        ):
            return
        verdict = _judge(ctx, session, row, activity)
    if verdict.due:
        await _act(ctx, owner, name, verdict)


async def _ask(ctx: Context, owner: str, name: str, port: int | None) -> Activity | None:
    """What it says; None where it does not answer, or no sense."""
    if port is None:
        return None
    try:
        said = await within(ctx.clock, ASK_S, ctx.servers.activity(owner, name, port))
        return Activity.model_validate(said)
    except (ServerGoneError, DeadlineError, GearshiftError, ValidationError, OverflowError) as error:
        log.info("%s/%s does not say what it does: %s", owner, name, error)
        return None


def _judge(ctx: Context, session: Session, row: WorkspaceRow, activity: Activity | None) -> Verdict:
    idle, now = idle_service.row_of(session, row), ctx.clock.now()
    policy = idle_service.policy_of(ctx, idle, row)
    if activity is not None:
        activity = activity.model_copy(update={"jobs": _jobs(session, row)})
    clock = observe(idle_service.clock_of(idle, row), activity, policy, now)
    verdict = judge(clock, policy, now)
    clock = after(clock, verdict, now)
    idle.clock = clock.model_dump(mode="json")
    if verdict.warn:
        log.info("%s is warned: %s at %s", row.id, verdict.action, verdict.acts_at)
        notices.warn(ctx, session, row, verdict)
    _tell(ctx, session, row, idle, clock, policy, verdict)
    return verdict


def _jobs(session: Session, row: WorkspaceRow) -> int:
    """Those that run; one that waits in line costs nothing and needs nobody."""
    query = select(func.count()).where(JobRow.workspace == row.id, JobRow.state.in_(RUNNING))
    return session.scalar(query) or 0


def _tell(
    ctx: Context,
    session: Session,
    row: WorkspaceRow,
    idle: IdleRow,
    clock: IdleClock,
    policy: Policy,
    verdict: Verdict,
) -> None:
    """Pages hear of each change; the end of the idle time only when it moved by a good part of a warning."""
    minute = max(policy.warn_s / 10, 1.0)
    told = {
        "busy": list(verdict.busy),
        "cause": verdict.cause,
        "action": verdict.action,
        "warned": clock.warned_at is not None,
        "at": round(verdict.acts_at.timestamp() / minute) if verdict.acts_at else None,
    }
    if told != idle.told:
        idle.told = told
        session.flush()
        idle_service.tell(ctx, session, row)


async def _act(ctx: Context, owner: str, name: str, verdict: Verdict) -> None:
    """Stop or drop; what is refused now is tried again later, and told."""
    assert verdict.cause is not None
    try:
        if verdict.action is IdleAction.DROP:
            await _drop(ctx, owner, name)
        else:
            params = {"reason": verdict.cause.value}
            await ctx.operations.submit(OperationKind.STOP, owner, name, actor=ACTOR, params=params)
    except GearshiftError as error:
        log.warning("%s/%s: no %s now: %s", owner, name, verdict.action, error)
        _again_later(ctx, owner, name, error)
        return
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        if verdict.cause is Cause.END:
            idle_service.row_of(session, row).end = None
        notices.done(ctx, session, row, verdict)


async def _drop(ctx: Context, owner: str, name: str) -> None:
    """The ordinary switch, to a machine that costs less, and only while nothing runs."""
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        target = idle_service.drop_target(ctx, workspaces.spec_of(row))
    if target is None:
        raise fail("cannot_switch", cause="no cheaper machine is left")
    actor = Actor(ACTOR, "service", frozenset({"custom:gearshift:admin"}))
    body = {"workspace": f"{owner}/{name}", "machine": target.id, "busy": "wait"}
    figures = await switch_plan.propose(ctx, actor, body)
    if figures["price_after_nano"] >= figures["price_before_nano"]:
        raise fail("cannot_switch", cause=f"{target.id} would not cost less")
    now = ctx.clock.now()
    plan = Plan(id="idle", kind="switch", user=ACTOR, body=body, figures=figures, expires_at=now)
    await switch_plan.perform(ctx, actor, plan)


def _again_later(ctx: Context, owner: str, name: str, error: GearshiftError) -> None:
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        idle_service.row_of(session, row).keep_until = ctx.clock.now() + AGAIN
        notices.failed(ctx, session, row, error)
