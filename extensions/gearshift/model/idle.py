"""The idle rule: what counts as work, since when nothing does, when that is warned of, and when it is acted upon.

Pure: an activity that a workspace's server reports moves a clock (`observe`), a policy turns the clock into a verdict
(`judge`). Control asks both every few seconds; `gearshift policy replay` asks the same two over a trace.

*busy*: something runs, so the idle clock stands. *computing*: something runs that uses a processor or a chip, or a job;
only what is busy without computing can be stuck. *unknown*: the server did not answer; nothing is done to it meanwhile.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from gearshift.model.record import Instant, Record

CPU_SHARE = 0.05
CHIP_SHARE = 0.01
IDLE_CORES = 0.05
"""What a server and idle kernels use by themselves; on a tiny machine that is more than 5 % of it."""

UNKNOWN = "unknown"
COMPUTING = frozenset({"job", "cpu", "chip"})
WORKING = COMPUTING | {"kernel", "terminal"}
"""Ends with the work itself, whoever is looking on; `page` does not."""


class IdleAction(StrEnum):
    """What becomes of a workspace that nobody uses."""

    STOP = "stop"
    DROP = "drop"
    """A switch to a cheaper machine without a chip; stopped there after the same time once more."""
    KEEP = "keep"


class Cause(StrEnum):
    """Why a workspace would be stopped or dropped."""

    IDLE = "idle"
    STUCK = "stuck"
    END = "end_of_work"


class Activity(Record):
    """What a workspace's server says of itself. What is not known is None, never 0."""

    at: Instant
    busy_kernels: int = 0
    terminals: int = 0
    """Those with something running in them."""
    jobs: int = 0
    pages: int = 0
    """Open connections of pages to kernels."""
    cpu_share: float | None = None
    """Of the machine's cores since the last question: 1 is all of them."""
    cpus: float | None = None
    chip_share: float | None = None
    executed_at: Instant | None = None
    """The last time a kernel did something."""
    used_at: Instant | None = None
    """The last key or click in a page."""


class IdleClock(Record):
    """What is remembered between two reports."""

    active_at: Instant
    """The last sign of anything: the idle time runs from here."""
    worked_at: Instant
    """The last sign of work; a page that is read is none."""
    reasons: tuple[str, ...] = ()
    """What it is busy with now."""
    stuck_since: Instant | None = None
    """Busy, or not answering, and computing nothing since then."""
    warned_at: Instant | None = None

    @classmethod
    def started(cls, at: datetime) -> IdleClock:
        """The clock of a workspace that is ready now: what was before the start does not count (case C18)."""
        return cls(active_at=at, worked_at=at)


class EndOfWork(Record):
    """Asked for once: act when the work that runs has ended, or at an instant; the later of the two."""

    action: IdleAction
    set_at: Instant
    at: Instant | None = None


class Policy(Record):
    """What holds for one workspace. Seconds; 0 is never."""

    action: IdleAction
    after_s: float
    warn_s: float
    stuck_s: float
    grace_s: float = 60.0
    """Between the end of work and what was asked for then."""
    open_page_counts: bool = False
    keep_until: Instant | None = None
    end: EndOfWork | None = None


class Verdict(Record):
    """What is to come."""

    busy: tuple[str, ...]
    cause: Cause | None = None
    """None: nothing is planned, it is busy or kept."""
    action: IdleAction = IdleAction.KEEP
    acts_at: Instant | None = None
    warns_at: Instant | None = None
    warn: bool = False
    """To be warned of now."""
    due: bool = False
    """To be done now."""


def busy_with(activity: Activity | None, policy: Policy) -> tuple[str, ...]:
    """What keeps a workspace from being idle, in the order in which it is told; empty for none."""
    if activity is None:
        return (UNKNOWN,)
    found = {
        "kernel": activity.busy_kernels > 0,
        "terminal": activity.terminals > 0,
        "job": activity.jobs > 0,
        "chip": (activity.chip_share or 0.0) > CHIP_SHARE,
        "cpu": _cores_busy(activity),
        "page": policy.open_page_counts and activity.pages > 0,
    }
    return tuple(name for name, holds in found.items() if holds)


def observe(clock: IdleClock, activity: Activity | None, policy: Policy, now: datetime) -> IdleClock:
    """The clock after one report; None is no answer, which starts and ends nothing."""
    reasons = busy_with(activity, policy)
    executed, used = (activity.executed_at, activity.used_at) if activity else (None, None)
    works = bool(WORKING.intersection(reasons))
    worked_at = now if works else _latest(now, clock.worked_at, executed)
    busy = bool(reasons) and reasons != (UNKNOWN,)
    active_at = now if busy else _latest(now, clock.active_at, worked_at, used)
    stuck = bool(reasons) and not COMPUTING.intersection(reasons)
    return clock.model_copy(
        update={
            "active_at": active_at,
            "worked_at": worked_at,
            "reasons": reasons,
            "stuck_since": (clock.stuck_since or now) if stuck else None,
        }
    )


def judge(clock: IdleClock, policy: Policy, now: datetime) -> Verdict:
    """What is to come by what is known now. Nothing is ever due that was not warned of `warn_s` before."""
    planned = min(_planned(clock, policy), key=lambda one: one[1], default=None)
    if planned is None:
        return Verdict(busy=clock.reasons)
    cause, at, action = planned
    warn = timedelta(seconds=_warning(cause, policy))
    at = max(at, policy.keep_until) if policy.keep_until else at
    early = now < at - warn
    warned = None if early else clock.warned_at
    at = at if early else max(at, (warned or now) + warn)
    return Verdict(
        busy=clock.reasons,
        cause=cause,
        action=action,
        acts_at=at,
        warns_at=at - warn,
        warn=not early and warned is None,
        due=warned is not None and now >= at,
    )


def after(clock: IdleClock, verdict: Verdict, now: datetime) -> IdleClock:
    """The clock once a verdict was told: a warning holds until what it warned of is put off or called off."""
    if verdict.warn:
        return clock.model_copy(update={"warned_at": now})
    if verdict.warns_at is None or now < verdict.warns_at:
        return clock.model_copy(update={"warned_at": None})
    return clock


def _cores_busy(activity: Activity) -> bool:
    share = activity.cpu_share or 0.0
    return share > CPU_SHARE and share * (activity.cpus or 1.0) > IDLE_CORES


def _planned(clock: IdleClock, policy: Policy) -> list[tuple[Cause, datetime, IdleAction]]:
    """Each thing that would happen if nothing changed any more; the first one counts."""
    found = []
    if clock.stuck_since and policy.stuck_s and policy.action is not IdleAction.KEEP:
        at = clock.stuck_since + timedelta(seconds=policy.stuck_s)
        found.append((Cause.STUCK, at, IdleAction.STOP))
    known = UNKNOWN not in clock.reasons
    if known and not clock.reasons and policy.after_s and policy.action is not IdleAction.KEEP:
        at = clock.active_at + timedelta(seconds=policy.after_s)
        found.append((Cause.IDLE, at, policy.action))
    end = policy.end
    if end is not None and known and not WORKING.intersection(clock.reasons):
        ended = max(clock.worked_at, end.set_at) + timedelta(seconds=policy.grace_s)
        found.append((Cause.END, max(ended, end.at) if end.at else ended, end.action))
    return found


def _warning(cause: Cause, policy: Policy) -> float:
    """What a person asked for at the end of work is not held up longer than its grace."""
    return min(policy.warn_s, policy.grace_s) if cause is Cause.END else policy.warn_s


def _latest(now: datetime, *instants: datetime | None) -> datetime:
    """The latest of them, none of which may lie ahead: a clock that is wrong stops nothing early, and holds nothing up."""
    return max(min(one, now) for one in instants if one is not None)
