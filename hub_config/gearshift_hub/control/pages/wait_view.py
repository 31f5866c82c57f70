"""Waits as pages show them: the place in line, until when a machine is held, and the ends that can be agreed to."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gearshift.model.units import to_iso
from gearshift.model.waitlist import Wait, WaitKind, WaitMode, WaitState

from gearshift_hub.control.context import Context
from gearshift_hub.control.operations.waitlist import Outlook
from gearshift_hub.control.pages.figures import Voice

OFFERED_HOURS = (1, 2, 4, 8, 12, 24, 48)
SECOND_US = 1_000_000
MINUTE_S, HOUR_S = 60, 3600


def rows(ctx: Context, waits: list[Wait], v: Voice) -> list[dict[str, Any]]:
    """Those under way."""
    return [row(ctx, wait, v) for wait in waits if not wait.state.is_final]


def row(ctx: Context, wait: Wait, v: Voice) -> dict[str, Any]:
    held = wait.state is WaitState.HELD
    names = {"name": wait.workspace.rpartition("/")[2], "machine": title(ctx, wait.spec.machine, v)}
    is_start, asks = wait.kind is WaitKind.START, wait.mode is WaitMode.ASK
    return {
        "id": wait.id,
        "page": f"{ctx.prefix}/waits/{wait.id}",
        "what": v.say("wait.start", **names) if is_start else v.say("wait.switch", **names),
        "how": v.say("wait.asks") if asks else v.say("wait.itself", price=v.per_hour(wait.cap_nano or 0)),
        "until": v.moment(wait.until),
        "state": standing(wait, v),
        "tone": "good" if held else "idle",
        "icon": "ok" if held else "clock",
        "can_start": held and is_start and asks,
        "can_keep": held and not wait.others_wait,
    }


def standing(wait: Wait, v: Voice) -> str:
    if wait.state is WaitState.HELD and wait.held_until is not None:
        return v.say("wait.held", time=v.clock(wait.held_until))
    if wait.state is WaitState.BEGUN or wait.position is None:
        return v.say("wait.begun")
    return v.say("wait.nth", place=nth(wait.position, v))


def pace(ctx: Context, outlook: Outlook, machine: str, v: Voice) -> str:
    """`Wait for H100: 4th in line, about 25 min`."""
    names = {"machine": machine, "place": nth(outlook.position, v)}
    if outlook.starts_at is None:
        return v.say("wait.unknown", **names)
    left = max(0.0, (outlook.starts_at - ctx.clock.now()).total_seconds())
    return v.say("wait.about", t=about(left, v), **names)


def about(seconds: float, v: Voice) -> str:
    """A span as it is estimated: minutes below an hour."""
    if MINUTE_S <= seconds < HOUR_S:
        return v.say("units.min", min=round(seconds / MINUTE_S))
    return v.span(int(seconds * SECOND_US))


def ends(ctx: Context, last: datetime, v: Voice) -> list[dict[str, str]]:
    """Full hours from now on, and the last that is allowed."""
    now = ctx.clock.now()
    full = now.replace(minute=0, second=0, microsecond=0)
    offered = [full + timedelta(hours=hours + 1) for hours in OFFERED_HOURS]
    return [
        {"value": to_iso(at), "text": v.moment(at)} for at in [*(at for at in offered if at < last), last]
    ]


def nth(position: int, v: Voice) -> str:
    """`4th`; in Chinese the figure."""
    if v.words.language == "zh":
        return str(position)
    ending = "th" if position % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(position % 10, "th")
    return f"{position}{ending}"


def title(ctx: Context, machine: str, v: Voice) -> str:
    known = ctx.deployment.machine(machine)
    return v.text(known.title) if known else machine
