"""The choice at a start: what was kept and comes back, in words, and the way to begin without it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gearshift.model.operation import Operation
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import journal
from gearshift_hub.control.operations.bringing_back import FRESH
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.services import states


def offered(ctx: Context, session: Session, owner: str, name: str, v: Voice) -> dict[str, Any] | None:
    """None where there is nothing to choose: no variable was kept."""
    row = states.newest(session, owner, name)
    count = states.shown(row).variables if row is not None else 0
    if row is None or not count:
        return None
    when = _when(row.taken_at, ctx.clock.now(), v)
    with_one, with_many = (
        v.say("kept.with_one", n=count, time=when),
        v.say("kept.with_many", n=count, time=when),
    )
    with_them = with_one if count == 1 else with_many
    return {
        "with": with_them,
        "as_it_was": v.say("kept.as_it_was", name=name, with_them=with_them),
        "iso": v.iso(row.taken_at),
    }


def brings_back(session: Session, start: Operation) -> bool:
    """Whether a start under way has something to bring back: decided when it launches, until then by what is kept."""
    run = journal.load(session, start.id)
    if "state" in run.data:
        return run.data["state"] is not None
    return run.params.get("state") != FRESH and states.newest(session, run.owner, str(run.name)) is not None


def _when(at: datetime, now: datetime, v: Voice) -> str:
    """The time of a state of today, else with its day."""
    today = at.astimezone(v.zone).date() == now.astimezone(v.zone).date()
    return v.clock(at)[:5] if today else v.moment(at)
