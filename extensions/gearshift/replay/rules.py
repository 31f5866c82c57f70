"""Three rules over one trace: keep until stopped, kill after so many silent minutes, and ours as control applies it.

Whoever was stopped comes back with the next row in which a person is at it, and holds the accelerators again from then.
What a rule ended while something ran is a *hit*: work was lost. The trace goes on as if it had not been.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from gearshift.model.idle import Cause, IdleClock, Policy, after, judge, observe
from gearshift.replay.trace import Row, spans

HOUR_S = 3600.0


@dataclass
class Outcome:
    """What a rule comes to."""

    accelerator_hours: float = 0.0
    ended: int = 0
    """How often it stopped or dropped something."""
    hits: int = 0
    """How often something that ran was among that."""
    stuck: int = 0
    """How often that was busy without computing, past its announced bound, and warned of."""
    returns: int = 0
    """How often a person had to take the accelerators back."""

    def add(self, other: Outcome) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def keep_until_stopped(rows: list[Row]) -> Outcome:
    """Nothing is ever ended."""
    return Outcome(accelerator_hours=sum(_hours(row, row.at, end) for row, end in spans(rows)))


def kill_after(rows: list[Row], minutes: float) -> Outcome:
    """Ended once nothing was printed and nobody was there for so long, whatever runs: activity is messages."""
    outcome, silent_since, running = Outcome(), rows[0].at, True
    for row, end in spans(rows):
        running = _come_back(outcome, running, row)
        if row.used or row.output:
            silent_since = end
        due = max(silent_since + timedelta(minutes=minutes), row.at)
        if running:
            outcome.accelerator_hours += _hours(row, row.at, min(due, end))
        if running and due < end:
            running = False
            outcome.ended += 1
            outcome.hits += row.computes
    return outcome


def ours(rows: list[Row], policy: Policy, step_s: float) -> Outcome:
    """The rule of `gearshift.model.idle`, looked at each `step_s` seconds."""
    outcome, clock, running = Outcome(), IdleClock.started(rows[0].at), True
    now, step = rows[0].at, timedelta(seconds=step_s)
    for row, end in spans(rows):
        if not running and row.used:
            clock, now = IdleClock.started(row.at), row.at
        running = _come_back(outcome, running, row)
        begin = row.at
        while running and now < end:
            clock = observe(clock, row.activity(now), policy, now)
            verdict = judge(clock, policy, now)
            clock = after(clock, verdict, now)
            if verdict.due:
                running = False
                outcome.accelerator_hours += _hours(row, begin, now)
                outcome.ended += 1
                is_stuck = verdict.cause is Cause.STUCK
                outcome.stuck += is_stuck
                outcome.hits += row.computes and not is_stuck
            now += step
        if running:
            outcome.accelerator_hours += _hours(row, begin, end)
    return outcome


def _come_back(outcome: Outcome, running: bool, row: Row) -> bool:
    if not running and row.used:
        outcome.returns += 1
    return running or row.used


def _hours(row: Row, begin: datetime, end: datetime) -> float:
    return row.accelerators * max(0.0, (end - begin).total_seconds()) / HOUR_S
