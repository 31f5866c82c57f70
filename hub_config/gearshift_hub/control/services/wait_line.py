"""The waitlist as part of the line: who of it waits for room, what is held for them, and what uses that up."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from gearshift.model.lease import Grant, Purpose
from gearshift.model.machine import Machine
from gearshift.model.queue import Waiting
from gearshift.model.units import to_iso
from gearshift.model.waitlist import LIVE, WaitKind, WaitMode, WaitState
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.waitlist import WaitRow
from gearshift_hub.control.services import leases, wait_notices, workspaces


def row(session: Session, id: str) -> WaitRow | None:
    return session.get(WaitRow, id)


def in_states(session: Session, states: Collection[WaitState]) -> list[WaitRow]:
    """Oldest first."""
    query = select(WaitRow).where(WaitRow.state.in_(states)).order_by(WaitRow.number)
    return list(session.scalars(query))


def of_workspace(session: Session, workspace: str) -> list[WaitRow]:
    """What a workspace waits for, or holds while its owner is asked."""
    return [one for one in in_states(session, LIVE) if one.workspace == workspace]


def waiting(ctx: Context, session: Session) -> list[Waiting]:
    """Those who could take a machine now if it were free."""
    found = (_waiting(ctx, session, one) for one in in_states(session, [WaitState.WAITING]))
    return [one for one in found if one is not None]


def _waiting(ctx: Context, session: Session, one: WaitRow) -> Waiting | None:
    spec = spec_of(one)
    machine = ctx.deployment.machine(spec.machine)
    if machine is None or one.until <= ctx.clock.now() or over_cap(one, machine):
        return None
    replacing = None
    if one.kind == WaitKind.SWITCH:
        there = workspaces.find(session, one.owner, one.name)
        held = leases.of_workspace(session, one.workspace, Purpose.WORKSPACE)
        if there is None or there.state != WorkspaceState.READY or not held:
            return None
        replacing = held[0]
    since = one.created_at + timedelta(microseconds=one.number)
    return Waiting(
        id=one.id,
        machine=machine,
        since=since,
        overtaken=one.overtaken,
        owner=one.owner,
        replacing=replacing,
        is_job=False,
    )


def over_cap(one: WaitRow, machine: Machine) -> bool:
    """Dearer now than what was agreed to."""
    price = machine.prices_per_hour_nano[spec_of(one).plan]
    return one.mode == WaitMode.ITSELF and one.cap_nano is not None and price > one.cap_nano


def spec_of(one: WaitRow) -> WorkspaceSpec:
    return WorkspaceSpec.read(one.spec)


def hold(ctx: Context, session: Session, id: str, grant: Grant) -> None:
    """The machine is theirs until they say yes, or the time of the hold is over."""
    one = session.get_one(WaitRow, id)
    taken = leases.take(
        ctx, session, grant, owner=one.owner, purpose=Purpose.WAITLIST, workspace=one.workspace
    )
    one.lease = taken.id
    one.held_until = ctx.clock.now() + timedelta(seconds=ctx.deployment.queue.hold)
    move(ctx, session, one, WaitState.HELD)
    if one.mode == WaitMode.ASK:
        wait_notices.free(ctx, session, one)


def settle(ctx: Context, session: Session, workspace: str, machine: str, operation: str) -> None:
    """A workspace takes a machine, in this transaction: what was held for it is what it takes, or is free again.

    A wait for that machine is done, one for a start that went another way is withdrawn; a switch is waited for on.
    """
    for one in of_workspace(session, workspace):
        if spec_of(one).machine == machine:
            end(ctx, session, one, WaitState.DONE, operation=operation)
        elif one.kind == WaitKind.START or one.state != WaitState.WAITING:
            end(ctx, session, one, WaitState.WITHDRAWN)


def end(ctx: Context, session: Session, one: WaitRow, state: WaitState, **fields: Any) -> None:
    """It is over; what is held for it goes back."""
    if one.lease is not None:
        leases.give_back(ctx, session, lease=one.lease)
    move(ctx, session, one, state, ended_at=ctx.clock.now(), lease=None, **fields)


def move(ctx: Context, session: Session, one: WaitRow, state: WaitState, **fields: Any) -> None:
    """The one place where a wait changes its state; its owner's pages hear of it."""
    one.state = state
    for name, value in fields.items():
        setattr(one, name, value)
    session.flush()
    held = to_iso(one.held_until) if one.held_until else None
    data = {"wait": one.id, "state": state.value, "workspace": one.workspace, "held_until": held}
    data |= {"kind": one.kind, "machine": one.spec["machine"], "mode": one.mode}
    ctx.events.add(session, "wait.state", data, owner=one.owner)
