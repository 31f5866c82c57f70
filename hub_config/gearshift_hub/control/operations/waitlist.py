"""The waitlist: joined, shown, held longer, taken back. What happens by itself is agreed to in a plan, and only once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gearshift.model.admission import Request, check
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.lease import Purpose
from gearshift.model.problems import parse
from gearshift.model.record import Input, Instant, Record
from gearshift.model.units import format_money, to_iso
from gearshift.model.waitlist import LIVE, Wait, WaitKind, WaitMode, WaitState
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.waitlist import WaitRow
from gearshift_hub.control.operations.start_plan import wanted
from gearshift_hub.control.operations.switch_plan import new_spec
from gearshift_hub.control.services import admission, job_line, leases, ledger, plans, wait_line, workspaces
from gearshift_hub.control.services.plans import Plan

SHOWN_FOR = timedelta(days=1)
"""After its end."""
KINDS = [kind.value for kind in WaitKind]
MODES = [mode.value for mode in WaitMode]


class Joining(Input):
    """What is waited for: a start (of a workspace there is, or of a new one as in a start plan) or a switch."""

    what: WaitKind
    machine: str
    workspace: str | None = None
    name: str | None = None
    display_name: str | None = None
    spec: dict[str, Any] | None = None
    until: Instant | None = None


class Outlook(Record):
    """How waiting for a machine would be, were it begun now."""

    machine: str
    position: int
    of: int
    starts_at: Instant | None
    hold_seconds: float
    longest_until: Instant
    price_per_hour_nano: int


@dataclass(frozen=True)
class _Asked:
    """A wait that was looked over: everything but the question of room."""

    owner: str
    name: str
    display_name: str
    kind: WaitKind
    spec: WorkspaceSpec
    until: datetime
    price_nano: int


def plug(ctx: Context) -> None:
    """Register the plan of what happens by itself, and what becomes of the waits of somebody who is deleted."""
    plans.register(
        ctx, "wait", propose=propose, perform=perform, moving=("position", "of", "starts_at", "until")
    )

    async def forget(owner: str) -> None:
        with ctx.db.transaction() as session:
            for one in wait_line.in_states(session, LIVE):
                if one.owner == owner:
                    wait_line.end(ctx, session, one, WaitState.WITHDRAWN)

    ctx.hooks.account_deleted.append(forget)


async def propose(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """What is agreed to: a start or switch by itself, once, at most this dear, until then."""
    cap = body.get("cap_nano")
    rest = {key: value for key, value in body.items() if key not in ("cap_nano", "mode")}
    with ctx.db.transaction() as session:
        asked = _asked(ctx, session, actor, parse(Joining, rest))
        stands = _outlook(ctx, session, asked.owner, asked.spec.machine)
        balance = ledger.balance(session, asked.owner, ctx.clock.now())
    if not isinstance(cap, int) or isinstance(cap, bool) or cap < asked.price_nano:
        raise _low_cap(ctx, cap, asked.price_nano)
    return {
        "workspace": f"{asked.owner}/{asked.name}",
        "display_name": asked.display_name,
        "what": asked.kind.value,
        "machine": asked.spec.machine,
        "spec": asked.spec.model_dump(mode="json"),
        "price_now_nano": asked.price_nano,
        "price_per_hour_nano": cap,
        "max_cost_nano": None,
        "until": to_iso(asked.until),
        "longest_hours": ctx.deployment.queue.wait_hours,
        "position": stands.position,
        "of": stands.of,
        "starts_at": to_iso(stands.starts_at) if stands.starts_at else None,
        "balance_nano": balance,
    }


async def perform(ctx: Context, actor: Actor, plan: Plan) -> Wait:
    rest = {key: value for key, value in plan.body.items() if key not in ("cap_nano", "mode")}
    with ctx.db.transaction() as session:
        asked = _asked(ctx, session, actor, parse(Joining, rest))
        cap, most = plan.figures["price_per_hour_nano"], plan.max_cost_nano
        return _join(ctx, session, asked, WaitMode.ITSELF, cap_nano=cap, max_cost_nano=most)


def join(ctx: Context, actor: Actor, joining: Joining) -> Wait:
    """In line to be asked: free, and nothing happens without a press."""
    with ctx.db.transaction() as session:
        return _join(ctx, session, _asked(ctx, session, actor, joining), WaitMode.ASK)


def outlook(ctx: Context, actor: Actor, machine: str) -> Outlook:
    """The place that somebody who joins now would have."""
    with ctx.db.transaction() as session:
        return _outlook(ctx, session, actor.name, machine)


def listed(ctx: Context, actor: Actor) -> list[Wait]:
    """One's own that are under way, and those that ended within a day, newest first."""
    with ctx.db.transaction() as session:
        query = select(WaitRow).where(WaitRow.owner == actor.name).order_by(WaitRow.number.desc())
        since = ctx.clock.now() - SHOWN_FOR
        rows = [one for one in session.scalars(query.limit(100)) if (one.ended_at or ctx.clock.now()) > since]
        line = job_line.line(ctx, session)
        return [shown(line, one) for one in rows]


def one(ctx: Context, actor: Actor, id: str) -> Wait:
    with ctx.db.transaction() as session:
        return shown(job_line.line(ctx, session), _visible(session, actor, id))


def keep(ctx: Context, actor: Actor, id: str) -> Wait:
    """Held as long again, from now; not while somebody is next."""
    with ctx.db.transaction() as session:
        row = _visible(session, actor, id)
        line = job_line.line(ctx, session)
        if row.state != WaitState.HELD:
            raise fail("not_held", field="wait", value=id, state=row.state)
        if _others(line, row):
            raise fail("others_wait", field="wait", value=id, machine=row.spec["machine"])
        row.held_until = ctx.clock.now() + timedelta(seconds=ctx.deployment.queue.hold)
        wait_line.move(ctx, session, row, WaitState.HELD)
        return shown(line, row)


def withdraw(ctx: Context, actor: Actor, id: str) -> Wait:
    """Out of the line, what is held goes back; one that is over stays as it is."""
    with ctx.db.transaction() as session:
        row = _visible(session, actor, id)
        if row.state in (WaitState.WAITING, WaitState.HELD):
            wait_line.end(ctx, session, row, WaitState.WITHDRAWN)
        return shown(job_line.line(ctx, session), row)


def shown(line: job_line.Line, row: WaitRow) -> Wait:
    """As its owner sees it."""
    waits = any(one.id == row.id for one in line.waiting)
    stands = line.place(row.id) if waits else None
    expected = line.expected(row.id) if waits else None
    why = row.why or {}
    return Wait(
        id=row.id,
        owner=row.owner,
        workspace=row.workspace,
        kind=WaitKind(row.kind),
        spec=wait_line.spec_of(row),
        mode=WaitMode(row.mode),
        cap_nano=row.cap_nano,
        until=row.until,
        state=WaitState(row.state),
        position=stands.position if stands else None,
        of=stands.of if stands else None,
        starts_at=expected.at if expected else None,
        held_until=row.held_until,
        others_wait=row.state == WaitState.HELD and _others(line, row),
        why=why.get("en"),
        why_zh=why.get("zh"),
        error=row.error,
        operation=row.operation,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


def others_wait(ctx: Context, session: Session, row: WaitRow) -> bool:
    """Whether somebody is next in line for the room that is held."""
    return _others(job_line.line(ctx, session), row)


def _others(line: job_line.Line, row: WaitRow) -> bool:
    machine = line.ctx.deployment.machine(row.spec["machine"])
    return any(machine is not None and one.machine.pool == machine.pool for one in line.waiting)


def _visible(session: Session, actor: Actor, id: str) -> WaitRow:
    """The row for somebody who may see it; for others it does not exist."""
    row = session.get(WaitRow, id)
    if row is None or (row.owner != actor.name and not actor.admin):
        raise fail("unknown_wait", field="wait", value=id)
    return row


def _asked(ctx: Context, session: Session, actor: Actor, joining: Joining) -> _Asked:
    """Judge it as the start or switch itself would be judged, but for room."""
    if joining.what is WaitKind.SWITCH:
        owner, name, display_name, spec = _switch(session, actor, joining)
    else:
        body = joining.model_dump(mode="json", exclude_none=True)
        body |= {"spec": {**joining.spec, "machine": joining.machine}} if joining.spec is not None else {}
        owner, name, display_name, spec = wanted(session, actor, body)
        spec = spec.model_copy(update={"machine": joining.machine})
        _check_not_running(session, owner, name)
    if owner != actor.name:
        raise fail("forbidden", role="the owner", role_zh="所有者")
    purpose = Purpose.SWITCH if joining.what is WaitKind.SWITCH else Purpose.WORKSPACE
    request = Request.of(owner, spec, purpose=purpose, workspace=f"{owner}/{name}")
    checked = check(request, admission.world(ctx, session, owner))
    if not leases.inventory(ctx, session)[spec.machine]["total"]:
        raise fail("bad_request", field="machine", value=spec.machine, problem="there is none of it here")
    until = _until(ctx, joining.until)
    return _Asked(owner, name, display_name, joining.what, spec, until, checked.price_per_hour_nano)


def _switch(session: Session, actor: Actor, joining: Joining) -> tuple[str, str, str, WorkspaceSpec]:
    owner, name = workspaces.parse_id(joining.workspace)
    actor.check_owner(owner)
    row = workspaces.get(session, owner, name)
    if row.state != WorkspaceState.READY:
        raise fail("not_running", field="workspace", value=row.id, workspace=row.id)
    return owner, name, row.display_name, new_spec(row, {"machine": joining.machine})


def _check_not_running(session: Session, owner: str, name: str) -> None:
    row = workspaces.find(session, owner, name)
    if row is not None and WorkspaceState(row.state).holds_machine:
        machine = row.spec["machine"]
        raise fail("already_running", field="workspace", value=row.id, workspace=row.id, machine=machine)


def _until(ctx: Context, asked: datetime | None) -> datetime:
    now, hours = ctx.clock.now(), ctx.deployment.queue.wait_hours
    last = now + timedelta(hours=hours)
    if asked is not None and not now < asked <= last:
        allowed = [f"an instant within {hours:g} h from now"]
        raise fail("bad_request", field="until", value=asked.isoformat(), allowed=allowed)
    return asked or last


def _join(
    ctx: Context,
    session: Session,
    asked: _Asked,
    mode: WaitMode,
    *,
    cap_nano: int | None = None,
    max_cost_nano: int | None = None,
) -> Wait:
    """At the end of the line; what this workspace waited for before is taken back, so that it never gets two."""
    workspace = f"{asked.owner}/{asked.name}"
    for before in wait_line.of_workspace(session, workspace):
        wait_line.end(ctx, session, before, WaitState.WITHDRAWN)
    _check_limit(ctx, session, asked.owner)
    row = WaitRow(
        id=f"wait-{secrets.token_hex(6)}",
        number=(session.scalar(select(func.max(WaitRow.number))) or 0) + 1,
        owner=asked.owner,
        name=asked.name,
        display_name=asked.display_name,
        kind=asked.kind,
        spec=asked.spec.model_dump(mode="json"),
        mode=mode,
        cap_nano=cap_nano,
        max_cost_nano=max_cost_nano,
        until=asked.until,
        state=WaitState.WAITING,
        created_at=ctx.clock.now(),
    )
    session.add(row)
    wait_line.move(ctx, session, row, WaitState.WAITING)
    for ring in ctx.hooks.room:
        ring()
    return shown(job_line.line(ctx, session), row)


def _check_limit(ctx: Context, session: Session, owner: str) -> None:
    used = sum(one.owner == owner for one in wait_line.in_states(session, LIVE))
    limit = ctx.deployment.queue.waits_per_person
    if used >= limit:
        words = {"what": "places on the waitlist", "what_zh": "候补"}
        raise fail("limit_reached", field="user", value=owner, used=used, limit=limit, **words)


def _low_cap(ctx: Context, cap: object, price_nano: int) -> GearshiftError:
    shown = cap if isinstance(cap, int | str | None) else str(cap)
    price = format_money(price_nano, ctx.deployment.site.currency_symbol)
    return fail("cap_too_low", field="cap_nano", value=shown, allowed=[f"{price_nano} or more"], price=price)


def _outlook(ctx: Context, session: Session, user: str, machine: str) -> Outlook:
    known = ctx.deployment.machine(machine)
    if known is None:
        allowed = [one.id for one in ctx.deployment.machines]
        raise fail("unknown_machine", field="machine", value=machine, allowed=allowed)
    position, of, starts_at = job_line.if_joined(ctx, session, user, known)
    return Outlook(
        machine=machine,
        position=position,
        of=of,
        starts_at=starts_at,
        hold_seconds=ctx.deployment.queue.hold,
        longest_until=ctx.clock.now() + timedelta(hours=ctx.deployment.queue.wait_hours),
        price_per_hour_nano=min(known.prices_per_hour_nano.values()),
    )
