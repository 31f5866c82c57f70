"""What holds for one workspace's idle time: the owner's choice within the operator's bounds, kept, shown and changed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from gearshift.model.errors import fail
from gearshift.model.idle import Cause, EndOfWork, IdleAction, IdleClock, Policy, Verdict, judge
from gearshift.model.machine import Machine
from gearshift.model.operation import OperationKind, OperationState
from gearshift.model.record import Input, Instant, Record
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.idle import IdleRow
from gearshift_hub.control.db.operations import OperationRow
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import workspaces

HOUR_S = 3600.0
LOOKED_BACK = 50

Hours = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Choice(Input):
    """What an owner chooses instead of the deployment's own."""

    action: IdleAction
    after_hours: Hours


class Keep(Input):
    """How much longer it is kept than it would be, in hours."""

    hours: Hours = 1.0


class End(Input):
    """What happens when the work that runs has ended; with `at` not before that instant."""

    action: IdleAction
    at: Instant | None = None


class Bounds(Record):
    """What may be chosen."""

    actions: tuple[IdleAction, ...]
    min_hours: float
    max_hours: float
    default_action: IdleAction
    default_hours: float
    stuck_hours: float
    warn_seconds: float


class Shown(Record):
    """Everything a page says about it. `next` is what happens at `acts_at`, None while nothing is planned."""

    action: IdleAction
    after_hours: float
    own: bool
    bounds: Bounds
    busy: tuple[str, ...] = ()
    cause: Cause | None = None
    next: IdleAction | None = None
    acts_at: Instant | None = None
    warned: bool = False
    drop_to: str | None = None
    """The machine of a drop, where one would make it cheaper."""
    saves_per_hour_nano: int | None = None
    keep_until: Instant | None = None
    end: EndOfWork | None = None
    before: str | None = None
    """The machine it was on before the last switch."""


def row_of(session: Session, row: WorkspaceRow) -> IdleRow:
    """Its row as of now, made when there is none. Each time it comes to be ready its clock begins anew (case C18)."""
    idle = session.get(IdleRow, (row.owner, row.name))
    if idle is None:
        idle = IdleRow(owner=row.owner, name=row.name)
        session.add(idle)
    if row.state == WorkspaceState.READY and idle.since != row.since:
        if _started_since(session, row, idle.since):
            idle.end = idle.keep_until = None
        idle.since, idle.clock = row.since, None
    session.flush()
    return idle


def clock_of(idle: IdleRow, row: WorkspaceRow) -> IdleClock:
    return IdleClock.started(row.since) if idle.clock is None else IdleClock.model_validate(idle.clock)


def policy_of(ctx: Context, idle: IdleRow, row: WorkspaceRow) -> Policy:
    """The owner's choice, cut to the bounds of now, and as it works out on the machine of now."""
    bounds, spec = ctx.deployment.idle, workspaces.spec_of(row)
    action, hours, _ = _chosen(ctx, idle)
    return Policy(
        action=_effective(ctx, spec, action),
        after_s=hours * HOUR_S,
        warn_s=bounds.warn_before,
        stuck_s=bounds.stuck_hours * HOUR_S,
        grace_s=bounds.end_grace,
        open_page_counts=bounds.open_page_counts,
        keep_until=idle.keep_until,
        end=_end(ctx, idle, spec),
    )


def drop_target(ctx: Context, spec: WorkspaceSpec) -> Machine | None:
    """Where a drop from a machine with a chip leads, if that is cheaper and runs its image."""
    now = ctx.deployment.machine(spec.machine)
    if now is None or now.chip is None:
        return None
    fitting = [
        (one.prices_per_hour_nano[spec.plan], one)
        for one in _drop_machines(ctx)
        if spec.image in one.images and spec.plan in one.prices_per_hour_nano
    ]
    price, target = min(fitting, key=lambda pair: pair[0], default=(0, None))
    return target if price < now.prices_per_hour_nano.get(spec.plan, 0) else None


def shown(ctx: Context, session: Session, row: WorkspaceRow) -> Shown:
    """As its owner sees it."""
    idle, spec = row_of(session, row), workspaces.spec_of(row)
    ready = row.state == WorkspaceState.READY
    clock = clock_of(idle, row)
    verdict = judge(clock, policy_of(ctx, idle, row), ctx.clock.now()) if ready else Verdict(busy=())
    action, hours, own = _chosen(ctx, idle)
    target = drop_target(ctx, spec)
    return Shown(
        action=action,
        after_hours=hours,
        own=own,
        bounds=_bounds(ctx),
        busy=verdict.busy,
        cause=verdict.cause,
        next=verdict.action if verdict.cause else None,
        acts_at=verdict.acts_at,
        warned=clock.warned_at is not None and verdict.cause is not None,
        drop_to=target.id if target else None,
        saves_per_hour_nano=_saving(ctx, spec, target),
        keep_until=idle.keep_until,
        end=_end(ctx, idle, spec),
        before=machine_before(session, row),
    )


def tell(ctx: Context, session: Session, row: WorkspaceRow) -> Shown:
    """Its state as an event, for whatever changed about it."""
    found = shown(ctx, session, row)
    ctx.events.add(session, "idle", found.model_dump(mode="json"), owner=row.owner, workspace=row.id)
    return found


def choose(ctx: Context, session: Session, row: WorkspaceRow, choice: Choice | None) -> Shown:
    """The owner's own policy, or with None the deployment's again."""
    idle, bounds = row_of(session, row), ctx.deployment.idle
    if choice is not None:
        _check_allowed(ctx, choice.action)
        if not bounds.min_hours <= choice.after_hours <= bounds.max_hours:
            allowed = [f"{bounds.min_hours:g} to {bounds.max_hours:g}"]
            raise fail("bad_request", field="after_hours", value=choice.after_hours, allowed=allowed)
    idle.action = choice.action if choice else None
    idle.after_s = choice.after_hours * HOUR_S if choice else None
    session.flush()
    return tell(ctx, session, row)


def keep(ctx: Context, session: Session, row: WorkspaceRow, hours: float) -> Shown:
    """So much longer than it would be kept; at most the longest idle time from now on."""
    check_ready(row)
    idle, now = row_of(session, row), ctx.clock.now()
    most = ctx.deployment.idle.max_hours
    if hours > most:
        raise fail("bad_request", field="hours", value=hours, allowed=[f"more than 0, up to {most:g}"])
    verdict = judge(clock_of(idle, row), policy_of(ctx, idle, row), now)
    begin = max(filter(None, (now, verdict.acts_at, idle.keep_until)))
    idle.keep_until = min(begin + timedelta(hours=hours), now + timedelta(hours=most))
    _put_off(idle)
    session.flush()
    return tell(ctx, session, row)


def set_end(ctx: Context, session: Session, row: WorkspaceRow, asked: End) -> Shown:
    """What is to happen at the end of work; `keep` calls it off. Asking again moves it."""
    idle, now = row_of(session, row), ctx.clock.now()
    if asked.action is not IdleAction.KEEP:
        check_ready(row)
        _check_end(ctx, row, asked, now)
        end = EndOfWork(action=asked.action, set_at=now, at=asked.at)
        idle.end, idle.keep_until = end.model_dump(mode="json"), None
    else:
        idle.end = None
    _put_off(idle)
    session.flush()
    return tell(ctx, session, row)


def check_ready(row: WorkspaceRow) -> None:
    if row.state != WorkspaceState.READY:
        raise fail("not_running", field="workspace", value=row.id, workspace=row.id)


def machine_before(session: Session, row: WorkspaceRow) -> str | None:
    """Where it was before it came to the machine it is on."""
    current = workspaces.spec_of(row).machine
    query = select(OperationRow).where(
        OperationRow.workspace == row.id,
        OperationRow.kind.in_((OperationKind.SWITCH, OperationKind.RESIZE)),
        OperationRow.state == OperationState.DONE,
    )
    for found in session.scalars(query.order_by(OperationRow.number.desc()).limit(LOOKED_BACK)):
        machine = ((found.data.get("old") or {}).get("spec") or {}).get("machine")
        if isinstance(machine, str) and machine != current:
            return machine
    return None


def _started_since(session: Session, row: WorkspaceRow, since: datetime | None) -> bool:
    """Whether there was a start, and not only a switch, after this instant."""
    query = select(OperationRow.created_at).where(
        OperationRow.workspace == row.id, OperationRow.kind == OperationKind.START
    )
    last = session.scalar(query.order_by(OperationRow.number.desc()).limit(1))
    return since is not None and last is not None and last > since


def _chosen(ctx: Context, idle: IdleRow) -> tuple[IdleAction, float, bool]:
    """Action, hours, and whether they are the owner's; bounds that became narrower hold at once."""
    bounds = ctx.deployment.idle
    action = IdleAction(idle.action) if idle.action else bounds.action
    if idle.after_s is None or (idle.action and action not in _allowed(ctx)):
        return bounds.action, bounds.after_hours, False
    return action, min(max(idle.after_s / HOUR_S, bounds.min_hours), bounds.max_hours), True


def _allowed(ctx: Context) -> tuple[IdleAction, ...]:
    """What people may choose here; a drop only where there is a machine for it."""
    drops = bool(_drop_machines(ctx))
    return tuple(one for one in ctx.deployment.idle.actions if drops or one is not IdleAction.DROP)


def _drop_machines(ctx: Context) -> list[Machine]:
    """The one that the deployment names, else all without a chip."""
    named = ctx.deployment.idle.drop_to
    machines = ctx.deployment.machines
    return [one for one in machines if (one.id == named if named else one.chip is None)]


def _effective(ctx: Context, spec: WorkspaceSpec, action: IdleAction) -> IdleAction:
    """A drop from a machine without a chip, or one that is as cheap, is a stop."""
    if action is not IdleAction.DROP or drop_target(ctx, spec):
        return action
    return IdleAction.STOP if IdleAction.STOP in ctx.deployment.idle.actions else IdleAction.KEEP


def _end(ctx: Context, idle: IdleRow, spec: WorkspaceSpec) -> EndOfWork | None:
    """What was asked for; a drop that leads nowhere any more, after a switch meanwhile, is called off."""
    end = EndOfWork.model_validate(idle.end) if idle.end else None
    nowhere = end is not None and end.action is IdleAction.DROP and drop_target(ctx, spec) is None
    return None if nowhere else end


def _check_allowed(ctx: Context, action: IdleAction) -> None:
    allowed = _allowed(ctx)
    if action not in allowed:
        raise fail("bad_request", field="action", value=action.value, allowed=[one.value for one in allowed])


def _check_end(ctx: Context, row: WorkspaceRow, asked: End, now: datetime) -> None:
    if asked.action is IdleAction.DROP and drop_target(ctx, workspaces.spec_of(row)) is None:
        raise fail("bad_request", field="action", value="drop", allowed=["stop", "keep"])
    if asked.at is not None and not now < asked.at <= now + timedelta(hours=ctx.deployment.idle.max_hours):
        allowed = [f"an instant within {ctx.deployment.idle.max_hours:g} h from now"]
        raise fail("bad_request", field="at", value=asked.at.isoformat(), allowed=allowed)


def _bounds(ctx: Context) -> Bounds:
    idle = ctx.deployment.idle
    return Bounds(
        actions=_allowed(ctx),
        min_hours=idle.min_hours,
        max_hours=idle.max_hours,
        default_action=idle.action,
        default_hours=idle.after_hours,
        stuck_hours=idle.stuck_hours,
        warn_seconds=idle.warn_before,
    )


def _saving(ctx: Context, spec: WorkspaceSpec, target: Machine | None) -> int | None:
    now = ctx.deployment.machine(spec.machine)
    if target is None or now is None:
        return None
    return now.prices_per_hour_nano[spec.plan] - target.prices_per_hour_nano[spec.plan]


def _put_off(idle: IdleRow) -> None:
    """A warning that was given is of no account any more: before whatever comes now, it is warned anew."""
    if idle.clock is not None:
        idle.clock = {**idle.clock, "warned_at": None}
