"""Comparing what the hub runs with what the database says, both ways; the hub's silence says nothing about anything."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TypeVar

from gearshift.model.errors import GearshiftError
from gearshift.model.operation import OperationKind
from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.hub import HubDownError, ServerState
from gearshift_hub.control.operations import hub_doors, journal
from gearshift_hub.control.operations.settling import seen_last
from gearshift_hub.control.services import leases, workspaces

log = logging.getLogger("gearshift.reconcile")

ACTOR = "gearshift"
ANSWER_S = 60.0
"""So long the hub may take to do what a look asks of it; then the look ends, and the next one asks again."""
T = TypeVar("T")


async def compare(ctx: Context) -> None:
    """One look at everything."""
    asked_at = ctx.clock.now()
    states = {(state.owner, state.name): state for state in await ctx.hub.servers()}
    stops: list[tuple[str, str, str]] = []
    releases: list[tuple[str, str, str]] = []
    with ctx.db.transaction() as session:
        for row in workspaces.listed(session, None):
            state = states.pop((row.owner, row.name), ServerState(row.owner, row.name))
            if journal.active(session, row.id) or row.since > asked_at:
                continue
            if state.held_by is not None and journal.has_ended(session, state.held_by):
                releases.append((row.owner, row.name, state.held_by))
            reason = _compare(ctx, session, row, state)
            if reason is not None:
                stops.append((row.owner, row.name, reason))
        strangers = [state for state in states.values() if _runs(state)]
        unowned = [state for state in strangers if session.get(AccountRow, state.owner) is None]
        _drop_expired(ctx, session)
    for owner, name, operation in releases:
        await _release(ctx, owner, name, operation)
    for owner, name, reason in stops:
        await stop_for(ctx, owner, name, reason)
    for state in strangers:
        await _end_stranger(ctx, state, known=state not in unowned)


def _compare(ctx: Context, session: Session, row: WorkspaceRow, state: ServerState) -> str | None:
    """Bring the row in line; returns the reason if the server has to be stopped."""
    now = ctx.clock.now()
    if row.state == WorkspaceState.READY:
        if state.ready:
            row.seen_at = now
            row.active_at = max(filter(None, (row.active_at, state.last_activity)), default=now)
        elif not state.alive and not state.frozen:
            log.warning("%s is gone; charged up to when it was last seen", row.id)
            hub_doors.gone(ctx, session, row, seen_last(ctx, row), exit_code=state.exit_code)
        return None
    if row.state == WorkspaceState.STOPPING_UNCONFIRMED:
        return row.reason or "asked"
    if WorkspaceState(row.state).is_moving:
        return "asked"  # no operation is at work on it: a stop puts it in order
    return "unknown" if _runs(state) else None


def _runs(state: ServerState) -> bool:
    """A start under way does not count: the hub is about to ask us for its launch plan."""
    return state.ready or state.frozen


async def stop_for(ctx: Context, owner: str, name: str, reason: str) -> None:
    """A stop that a rule asks for; one that is refused now is asked for again next time."""
    try:
        await ctx.operations.submit(OperationKind.STOP, owner, name, actor=ACTOR, params={"reason": reason})
    except GearshiftError as error:
        log.warning("%s/%s: not stopped: %s", owner, name, error)


async def _release(ctx: Context, owner: str, name: str, operation: str) -> None:
    """What a switch that has ended still holds, the hub having been away then; a frozen tree goes with it."""
    try:
        await _answered(ctx, ctx.hub.release(owner, name, operation, "new"))
    except GearshiftError as error:
        log.warning("%s/%s: the hold stays: %s", owner, name, error)


async def _answered(ctx: Context, call: Awaitable[T]) -> T:
    """What the hub says; HubDownError when it took the call and never answers."""
    try:
        return await within(ctx.clock, ANSWER_S, call)
    except DeadlineError as late:
        raise HubDownError(str(late)) from late


async def _end_stranger(ctx: Context, state: ServerState, *, known: bool) -> None:
    """A server that we never heard of holds no lease and pays nothing: it is ended, and that is told."""
    log.warning("%s/%s runs without being known here; it is ended", state.owner, state.name)
    operation = f"unknown-{state.operation or state.tree or 'server'}"
    await _answered(ctx, ctx.hub.stop(state.owner, state.name, operation))
    if known:
        with ctx.db.transaction() as session:
            data = {"text": "unknown_server", "workspace": f"{state.owner}/{state.name}"}
            ctx.events.add(session, "notice", data, owner=state.owner)


def _drop_expired(ctx: Context, session: Session) -> None:
    """A reservation whose operation has ended, or is nowhere, and whose time is over."""
    for lease in leases.expired(session, ctx.clock.now()):
        busy = journal.active(session, lease.workspace) if lease.workspace else []
        if not busy:
            log.warning("the reservation %s of %s has expired", lease.id, lease.workspace or lease.job)
            leases.give_back(ctx, session, lease=lease.id)
