"""Bringing a kept state back with a start: which one, how long it may take, and a report whatever comes of it."""

from __future__ import annotations

from typing import Any

from gearshift.model.errors import GearshiftError, fail
from sqlalchemy.orm import Session

from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import states
from gearshift_hub.control.steps import Run

NEWEST = "newest"
FRESH = "none"
GRACE_S = 5.0
"""The deadline of the work itself passes first, so that a slow restore is told and the start goes on."""


def chosen(session: Session, run: Run) -> dict[str, Any]:
    """The kept state that this start brings back, decided when it launches: a stop before it may have just saved one."""
    asked = run.params.get("state", NEWEST)
    if asked == FRESH:
        return {"state": None}
    row = (
        states.newest(session, run.owner, str(run.name))
        if asked == NEWEST
        else states.find(session, run.owner, str(run.name), asked)
    )
    return {"state": row.id, "state_seconds": row.seconds} if row is not None else {"state": None}


def seconds(ctx: Context, run: Run) -> float:
    return ctx.deployment.deadlines.save(float(run.data.get("state_seconds") or 0.0))


async def into(ctx: Context, run: Run, port: int | None, state: str) -> dict[str, Any]:
    """The server's report; of a failure, a report of the same shape with the error. The state stays kept."""
    try:
        return await _asked(ctx, run, port, state)
    except GearshiftError as error:
        return {"state": state, "ok": False, "kernels": [], **error.body()}


async def _asked(ctx: Context, run: Run, port: int | None, state: str) -> dict[str, Any]:
    machine = str(run.params["spec"]["machine"])
    if port is None:
        raise fail("restore_failed", machine=machine, cause="the hub named no port")
    limit = seconds(ctx, run)
    asking = ctx.servers.restore(run.owner, str(run.name), port, run.id, state=state, seconds=limit)
    try:
        report = await within(ctx.clock, limit, asking)
    except ServerGoneError as error:
        raise fail("restore_failed", machine=machine, cause="the server did not answer") from error
    except DeadlineError as error:
        raise fail("restore_failed", machine=machine, cause=f"it took over {limit:g} s") from error
    return {**report, "state": state, "ok": bool(report.get("ok", True))}
