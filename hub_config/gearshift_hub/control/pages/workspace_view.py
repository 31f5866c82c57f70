"""Workspaces as the pages show them: a row with its state in words, and the steps of a start with their seconds."""

from __future__ import annotations

import math
import statistics
from datetime import datetime
from typing import Any

from gearshift.model.operation import Operation, OperationKind, OperationState, Step, StepState
from gearshift.model.units import duration_us
from gearshift.model.workspace import Workspace, WorkspaceState
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.operations import OperationRow
from gearshift_hub.control.operations import journal
from gearshift_hub.control.pages import state_view
from gearshift_hub.control.pages.figures import Voice
from gearshift_hub.control.services import disk_records, leases

TONES = {
    WorkspaceState.READY: ("good", "ok"),
    WorkspaceState.STARTING: ("info", "busy"),
    WorkspaceState.SWITCHING: ("info", "swap"),
    WorkspaceState.STOPPING: ("info", "busy"),
    WorkspaceState.STOPPING_UNCONFIRMED: ("warn", "warn"),
    WorkspaceState.STOPPED: ("idle", "stopc"),
    WorkspaceState.FAILED: ("bad", "fail"),
    WorkspaceState.NEEDS_ATTENTION: ("warn", "warn"),
}
STEPS = {
    StepState.PENDING: ("todo", "ring", "pending"),
    StepState.RUNNING: ("gs-info", "busy", "running"),
    StepState.UNDOING: ("gs-warn", "busy", "running"),
    StepState.DONE: ("gs-good", "ok", "done"),
    StepState.PASSED: ("gs-warn", "warn", "failed"),
    StepState.FAILED: ("gs-bad", "fail", "failed"),
    StepState.UNDONE: ("gs-idle", "undo", "undone"),
    StepState.STUCK: ("gs-bad", "fail", "failed"),
}
FIRST_GUESS_S = 3
LOOK_BACK = 10
SLOW_FACTOR = 2


def row(ctx: Context, workspace: Workspace, viewer: str, v: Voice) -> dict[str, Any]:
    """One workspace for a table or a page of its own; only its owner starts it."""
    state, spec = workspace.state, workspace.spec
    tone, icon = TONES[state]
    machine, image = ctx.deployment.machine(spec.machine), ctx.deployment.image(spec.image)
    price = (
        price_of(ctx, spec.machine, spec.plan)
        if workspace.price_per_hour_nano is None
        else workspace.price_per_hour_nano
    )
    return {
        "owner": workspace.owner,
        "name": workspace.name,
        "display_name": workspace.display_name,
        "page": f"{ctx.prefix}/workspaces/{workspace.id}",
        "state": v.say(f"state.{state.value}"),
        "tone": tone,
        "icon": icon,
        "why": why(workspace, v),
        "ended": state.can_start,
        "since": v.moment(workspace.since),
        "since_iso": v.iso(workspace.since),
        "machine": v.text(machine.title) if machine else spec.machine,
        "image": v.text(image.title) if image else spec.image,
        "price": v.per_hour(price) if price is not None else v.say("start.unknown"),
        "amount": v.money(price) if price is not None else v.say("start.unknown"),
        "url": workspace.url if state is WorkspaceState.READY else None,
        "can_start": viewer == workspace.owner
        and state.can_start
        and machine is not None
        and image is not None,
        "can_delete": state.can_start,
        "can_stop": state.holds_machine and state is not WorkspaceState.STOPPING,
        "moving": state.is_moving or state is WorkspaceState.STOPPING_UNCONFIRMED,
    }


def why(workspace: Workspace, v: Voice) -> str:
    """The reason in words, where there is one; a code without words of its own is shown as it is."""
    if not workspace.reason:
        return ""
    key = f"reason.{workspace.reason}"
    return v.say(key) if v.words.has(key) else v.say("reason.other", code=workspace.reason)


def price_of(ctx: Context, machine: str, plan: Any) -> int | None:
    found = ctx.deployment.machine(machine)
    return found.prices_per_hour_nano.get(plan) if found else None


def expected_s(session: Session) -> int:
    """How long a start takes: the median of the last ones that went well."""
    query = select(OperationRow).where(
        OperationRow.kind == OperationKind.START, OperationRow.state == OperationState.DONE
    )
    rows = session.scalars(query.order_by(OperationRow.number.desc()).limit(LOOK_BACK))
    ended = [journal.operation_of(found) for found in rows]
    spans = [duration_us(op.created_at, op.ended_at) / 1e6 for op in ended if op.ended_at]
    return max(1, math.ceil(statistics.median(spans))) if spans else FIRST_GUESS_S


def progress(ctx: Context, session: Session, op: Operation, workspace: Workspace, v: Voice) -> dict[str, Any]:
    """The steps of a start as they stand; bringing back is one of them where something was kept."""
    op = op if state_view.brings_back(session, op) else _without(op, "restore")
    now, expected = ctx.clock.now(), expected_s(session)
    elapsed = duration_us(op.created_at, op.ended_at or now) / 1e6
    titles = {step.name: _title(ctx, session, step, workspace, v) for step in op.steps}
    place = _place(op)
    title = titles[op.steps[place - 1].name][0]
    live = not op.state.is_final
    return {
        "live": live,
        "percent": _percent(op, elapsed, expected),
        "step_of": v.say("starting.step_of", n=place, total=len(op.steps)),
        "say": _note(op, v) or f"{title}: {_state(op.steps[place - 1], v)}",
        "elapsed_s": f"{elapsed:.1f}",
        "elapsed_text": v.say("starting.elapsed", n="{n}", expected=expected),
        "elapsed": v.say("starting.elapsed", n=v.seconds(int(elapsed * 1e6)), expected=expected),
        "note": _note(op, v) or _slow(elapsed, expected, title, v) if live else None,
        "steps": [
            _step(step, titles[step.name], now, v, failed=op.error is not None and n == place)
            for n, step in enumerate(op.steps, 1)
        ],
        "log": _log(op, {name: both[0] for name, both in titles.items()}, v),
    }


def _without(op: Operation, name: str) -> Operation:
    return op.model_copy(update={"steps": tuple(step for step in op.steps if step.name != name)})


def _note(op: Operation, v: Voice) -> str | None:
    """Why it goes back, while it does."""
    if op.direction != "back":
        return None
    return v.say("starting.undoing" if op.cancelled_by else "starting.going_back")


def _slow(elapsed: float, expected: int, title: str, v: Voice) -> str | None:
    return v.say("starting.slow", step=title) if elapsed > SLOW_FACTOR * expected else None


def _place(op: Operation) -> int:
    """The number of the step at work; of the last one that was begun when none is."""
    names = [step.name for step in op.steps]
    if op.step in names:
        return names.index(op.step) + 1
    return max((n for n, step in enumerate(op.steps, 1) if step.started_at), default=1)


def _percent(op: Operation, elapsed: float, expected: int) -> int:
    """Never backward and never full before it is done: the larger of steps done and time gone."""
    if op.state is OperationState.DONE:
        return 100
    done = sum(step.state is StepState.DONE for step in op.steps) / len(op.steps)
    return min(95, round(100 * max(done, elapsed / expected * 0.9)))


def _step(step: Step, both: tuple[str, str], now: datetime, v: Voice, *, failed: bool) -> dict[str, Any]:
    """One step as a line. Once a step is undone, its end is that of the undoing: no seconds are shown for it."""
    tone, icon, _ = STEPS[StepState.FAILED if failed and step.state is StepState.UNDONE else step.state]
    current = step.state in (StepState.RUNNING, StepState.UNDOING)
    forward = step.state in (StepState.RUNNING, StepState.DONE, StepState.PASSED)
    span = duration_us(step.started_at, step.ended_at or now) if step.started_at and forward else None
    return {
        "title": both[0],
        "detail": both[1],
        "tone": tone,
        "icon": icon,
        "state": v.say("starting.failed") if failed else _state(step, v),
        "current": current,
        "tick": f"{span / 1e6:.1f}" if current and span is not None else None,
        "time": v.say("starting.seconds", n=v.seconds(span)) if span is not None else "",
    }


def _state(step: Step, v: Voice) -> str:
    return v.say(f"starting.{STEPS[step.state][2]}")


def _title(ctx: Context, session: Session, step: Step, workspace: Workspace, v: Voice) -> tuple[str, str]:
    """What the step does, and one detail of it."""
    spec = workspace.spec
    machine, image = ctx.deployment.machine(spec.machine), ctx.deployment.image(spec.image)
    machine_title = v.text(machine.title) if machine else spec.machine
    image_title = v.text(image.title) if image else spec.image
    title = v.say(f"starting.{step.name}", machine=machine_title, image=image_title)
    if step.name == "lease" and step.state is StepState.DONE:
        there = leases.inventory(ctx, session).get(spec.machine, {"free": 0, "total": 0})
        return title, v.say("starting.lease_small", **there)
    if step.name == "launch":
        return title, ", ".join((v.say("starting.launch_none"), *_names(session, workspace)))
    if step.name == "restore":
        return title, _brought_back(step, v)
    details = {
        "admit": v.say("starting.admit_small"),
        "ready": why(workspace, v) or v.say("starting.ready_small", machine=machine_title),
    }
    return title, details.get(step.name, "")


def _brought_back(step: Step, v: Voice) -> str:
    if step.state is not StepState.DONE:
        return ""
    return "" if (step.note or {}).get("restored") else v.say("starting.restore_failed")


def _names(session: Session, workspace: Workspace) -> list[str]:
    names = {row.id: row.name for row in disk_records.usable(session, workspace.owner)}
    return [*(names.get(mount.disk, mount.disk) for mount in workspace.spec.disks), *workspace.spec.datasets]


def _log(op: Operation, titles: dict[str, str], v: Voice) -> list[dict[str, str]]:
    """When each step began and ended, in order."""
    lines: list[tuple[datetime, str]] = []
    for step in op.steps:
        if step.started_at:
            lines.append((step.started_at, v.say("starting.log_begun", step=titles[step.name])))
        if step.started_at and step.ended_at:
            span = v.seconds(duration_us(step.started_at, step.ended_at))
            facts = {"step": titles[step.name], "state": _state(step, v), "seconds": span}
            lines.append((step.ended_at, v.say("starting.log_ended", **facts)))
    return [
        {"time": v.clock(at), "iso": v.iso(at), "text": text}
        for at, text in sorted(lines, key=lambda x: x[0])
    ]
