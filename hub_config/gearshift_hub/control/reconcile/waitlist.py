"""The waitlist at work: holds that are over pass on, what was agreed to happens once, and what nobody can use ends.

What is to happen is in the database before it is done: a control that was killed in between finds the operation that
came of it, or begins it.
"""

from __future__ import annotations

import logging
from typing import Any

from gearshift.model.errors import GearshiftError
from gearshift.model.operation import OperationKind
from gearshift.model.waitlist import WaitKind, WaitMode, WaitState
from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.waitlist import WaitRow
from gearshift_hub.control.operations import burden, journal, start_plan, switch_plan, waitlist
from gearshift_hub.control.services import wait_line, wait_notices, workspaces
from gearshift_hub.control.services.plans import Plan

log = logging.getLogger("gearshift.waitlist")

ACTOR = "waitlist"
ALWAYS_RUNS = (WorkspaceState.READY, WorkspaceState.SWITCHING, WorkspaceState.STARTING)
CELL_RUNS = {"en": "A cell is running.", "zh": "有单元正在运行。"}


async def look(ctx: Context) -> None:
    """One look at all who wait."""
    with ctx.db.transaction() as session:
        for one in wait_line.in_states(session, [WaitState.WAITING]):
            _check_waiting(ctx, session, one)
        for one in wait_line.in_states(session, [WaitState.HELD]):
            _check_hold(ctx, session, one)
        mine = [WaitState.HELD, WaitState.BEGUN]
        todo = [one.id for one in wait_line.in_states(session, mine) if one.mode == WaitMode.ITSELF]
    for id in todo:
        await _alone(ctx, id)


async def _alone(ctx: Context, id: str) -> None:
    """What is refused ends this wait; a fault with it keeps nobody else from theirs, and it is tried again."""
    try:
        await _by_itself(ctx, id)
    except GearshiftError as error:
        log.info("%s could not be done: %s", id, error)
        _failed(ctx, id, error)
    except Exception:
        log.exception("%s could not be done", id)


def _check_waiting(ctx: Context, session: Session, one: WaitRow) -> None:
    """Over when its time is; out when the workspace that was to switch is no longer there."""
    if one.until <= ctx.clock.now():
        wait_line.end(ctx, session, one, WaitState.OVER)
    elif one.kind == WaitKind.SWITCH and not _runs(session, one):
        wait_line.end(ctx, session, one, WaitState.WITHDRAWN)


def _check_hold(ctx: Context, session: Session, one: WaitRow) -> None:
    """Given on when its time is over."""
    if one.kind == WaitKind.SWITCH and not _runs(session, one):
        wait_line.end(ctx, session, one, WaitState.WITHDRAWN)
    elif one.held_until is not None and one.held_until <= ctx.clock.now():
        next_in_line = waitlist.others_wait(ctx, session, one)
        wait_line.end(ctx, session, one, WaitState.PASSED if next_in_line else WaitState.LAPSED)
        wait_notices.over(ctx, session, one, passed=next_in_line)


def _runs(session: Session, one: WaitRow) -> bool:
    row = workspaces.find(session, one.owner, one.name)
    return row is not None and row.state in ALWAYS_RUNS


async def _by_itself(ctx: Context, id: str) -> None:
    """Begin what was agreed to, unless it has begun already."""
    with ctx.db.transaction() as session:
        one = session.get_one(WaitRow, id)
        if one.state == WaitState.BEGUN and _find_begun(ctx, session, one):
            return
    plan = await _switch_plan(ctx, one) if one.kind == WaitKind.SWITCH else None
    if one.kind == WaitKind.SWITCH and plan is None:
        return
    with ctx.db.transaction() as session:
        one = session.get_one(WaitRow, id)
        if one.state not in (WaitState.HELD, WaitState.BEGUN):
            return
        wait_line.move(ctx, session, one, WaitState.BEGUN, begun_at=one.begun_at or ctx.clock.now(), why=None)
    op = await (_switch(ctx, plan) if plan else _start(ctx, one))
    with ctx.db.transaction() as session:
        one = session.get_one(WaitRow, id)
        if not WaitState(one.state).is_final:
            wait_line.end(ctx, session, one, WaitState.DONE, operation=op)


def _find_begun(ctx: Context, session: Session, one: WaitRow) -> bool:
    """The operation that a control which was killed had begun for it."""
    kinds = (
        (OperationKind.START,) if one.kind == WaitKind.START else (OperationKind.SWITCH, OperationKind.RESIZE)
    )
    for kind in kinds:
        row = journal.latest(session, one.workspace, kind)
        if row is not None and one.begun_at is not None and row.created_at >= one.begun_at:
            wait_line.end(ctx, session, one, WaitState.DONE, operation=row.id)
            return True
    return False


async def _start(ctx: Context, one: WaitRow) -> str:
    spec = wait_line.spec_of(one)
    op = await start_plan.start(
        ctx,
        one.owner,
        one.name,
        spec,
        actor=one.owner,
        display_name=one.display_name,
        max_cost_nano=one.max_cost_nano,
    )
    return op.id


async def _switch_plan(ctx: Context, one: WaitRow) -> Plan | None:
    """The plan, if no cell runs and nothing would be lost; else why not is noted, and it is tried again while held."""
    actor = Actor(ACTOR, "service", frozenset({"custom:gearshift:admin"}))
    machine = wait_line.spec_of(one).machine
    body = {"workspace": one.workspace, "machine": machine, "busy": "wait", "rerun": burden.SUGGESTED}
    try:
        figures = await switch_plan.propose(ctx, actor, body)
    except GearshiftError as error:
        if error.code not in ("busy", "save_failed"):
            raise
        _note(ctx, one.id, {"en": error.message, "zh": error.message_zh})
        return None
    hindered = _hindrance(figures)
    if hindered is not None:
        _note(ctx, one.id, hindered)
        return None
    body["rerun"] = figures["rerun"]
    return Plan(
        id=one.id,
        kind="switch",
        user=one.owner,
        body=body,
        figures=figures,
        expires_at=ctx.clock.now(),
        max_cost_nano=one.max_cost_nano,
    )


async def _switch(ctx: Context, plan: Plan) -> str:
    actor = Actor(plan.user, "service", frozenset({"custom:gearshift:admin"}))
    return (await switch_plan.perform(ctx, actor, plan)).id


def _hindrance(figures: dict[str, Any]) -> dict[str, str] | None:
    """What was not agreed to: interrupting a cell, or losing something."""
    lost: list[str] = []
    for kernel in figures["kernels"]:
        if kernel.get("busy"):
            return CELL_RUNS
        again = figures["rerun"].get(str(kernel.get("kernel_id")), [])
        for one in burden.variables(kernel):
            if one.get("verdict") != "copy" and one.get("name") not in again:
                lost.append(str(one.get("name")))
    if not lost:
        return None
    names = [*lost[:3], *(["…"] if len(lost) > 3 else [])]
    return {"en": f"{', '.join(names)} would be lost.", "zh": f"{'、'.join(names)} 将会丢失。"}


def _note(ctx: Context, id: str, why: dict[str, str]) -> None:
    with ctx.db.transaction() as session:
        one = session.get_one(WaitRow, id)
        if one.why != why and one.state == WaitState.HELD:
            wait_line.move(ctx, session, one, WaitState.HELD, why=why)


def _failed(ctx: Context, id: str, error: GearshiftError) -> None:
    with ctx.db.transaction() as session:
        one = session.get_one(WaitRow, id)
        if not WaitState(one.state).is_final:
            wait_line.end(ctx, session, one, WaitState.FAILED, error=error.body()["error"])
            wait_notices.failed(ctx, session, one, error)
