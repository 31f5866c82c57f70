"""Plans: what spends, stops or deletes is proposed with its figures, then confirmed once, within two minutes.

A kind of plan is registered by whoever performs it:

    plans.register(ctx, "job", propose=propose, perform=perform)

`propose(ctx, actor, body)` returns the figures and changes nothing. Two figures mean something here:
`price_per_hour_nano` (0 when free) and `max_cost_nano` (None when open-ended) are held against caps.
`perform(ctx, actor, plan)` is called once, after the figures were asked for again and found equal; figures named in
`moving` (seconds, sizes) may differ meanwhile, and are the new ones then.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.record import Input, Instant, Record
from gearshift.model.units import format_money
from pydantic import BaseModel
from sqlalchemy import delete, select

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.plans import PlanRow

MOVING = frozenset({"seconds", "bytes", "free", "balance_nano", "balance_after_nano"})
FORGOTTEN_AFTER = timedelta(days=1)
KEPT_OF_ONE_PERSON = 200
"""Code that asks without end fills no database."""


class Confirmation(Input):
    """How the person said yes: a press in our dialog, a yes on the terminal, or two caps with a spend token."""

    press: bool = False
    terminal: bool = False
    max_price_nano: int | None = None
    max_cost_nano: int | None = None

    @property
    def capped(self) -> bool:
        return self.max_price_nano is not None and self.max_cost_nano is not None


class Plan(Record):
    """What the person is shown."""

    id: str
    kind: str
    user: str
    body: dict[str, Any]
    figures: dict[str, Any]
    expires_at: Instant
    max_cost_nano: int | None = None
    """The cap on cost it was confirmed with; whoever performs it keeps to it."""


Propose = Callable[[Context, Actor, Mapping[str, Any]], Awaitable[dict[str, Any]]]
Perform = Callable[[Context, Actor, Plan], Awaitable[BaseModel]]
Changed = Callable[[Mapping[str, Any], Mapping[str, Any]], tuple[str, str] | None]


@dataclass(frozen=True)
class PlanKind:
    """How plans of one kind are made and carried out."""

    propose: Propose
    perform: Perform
    moving: frozenset[str]
    changed: Changed
    press_only: bool = False


def nothing_to_say(_before: Mapping[str, Any], _after: Mapping[str, Any]) -> None:
    """Only the path of the field is named."""


def register(
    ctx: Context,
    kind: str,
    *,
    propose: Propose,
    perform: Perform,
    moving: Collection[str] = (),
    changed: Changed = nothing_to_say,
    press_only: bool = False,
) -> None:
    """Teach control a kind of plan. `changed` says in both languages what is different between two sets of figures; with
    `press_only` no token, capped or not, stands for the person's press."""
    ctx.plan_kinds[kind] = PlanKind(propose, perform, MOVING | frozenset(moving), changed, press_only)


async def issue(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> Plan:
    """A plan with its figures; nothing happens yet."""
    kind = _kind(ctx, body.get("kind"))
    asked = {key: value for key, value in body.items() if key != "kind"}
    figures = await kind.propose(ctx, actor, asked)
    now = ctx.clock.now()
    row = PlanRow(
        id=f"plan-{secrets.token_hex(12)}",
        kind=str(body["kind"]),
        user=actor.name,
        body=asked,
        figures=figures,
        issued_at=now,
        expires_at=now + timedelta(seconds=ctx.deployment.deadlines.plan),
    )
    with ctx.db.transaction() as session:
        session.execute(delete(PlanRow).where(PlanRow.expires_at < now - FORGOTTEN_AFTER))
        session.add(row)
        session.flush()
        newest_first = select(PlanRow.id).where(PlanRow.user == actor.name).order_by(PlanRow.issued_at.desc())
        too_many = list(session.scalars(newest_first.offset(KEPT_OF_ONE_PERSON)))
        session.execute(delete(PlanRow).where(PlanRow.id.in_(too_many)))
    return _plan(row)


async def confirm(
    ctx: Context, actor: Actor, plan_id: str, said: Confirmation, *, pressed: bool
) -> BaseModel:
    """Carry the plan out, once. `pressed` tells whether the request came by a press in a dialog of ours."""
    plan = _read(ctx, actor, plan_id)
    kind = _kind(ctx, plan.kind)
    _check_confirmation(ctx, actor, plan, said, pressed, press_only=kind.press_only)
    _use(ctx, plan)
    now = await kind.propose(ctx, actor, plan.body)
    _check_same(plan.figures, now, kind)
    confirmed = plan.model_copy(update={"figures": now, "max_cost_nano": said.max_cost_nano})
    return await kind.perform(ctx, actor, confirmed)


def _kind(ctx: Context, name: object) -> PlanKind:
    kind = ctx.plan_kinds.get(name) if isinstance(name, str) else None
    if not isinstance(kind, PlanKind):
        raise fail(
            "bad_request",
            field="kind",
            value=name,
            allowed=sorted(ctx.plan_kinds),
            problem="unknown kind of plan",
        )
    return kind


def _read(ctx: Context, actor: Actor, plan_id: str) -> Plan:
    with ctx.db.transaction() as session:
        row = session.get(PlanRow, plan_id)
    if row is None or row.user != actor.name:
        raise fail("plan_unknown", value=plan_id)
    if row.used_at is not None:
        raise fail("plan_used", value=plan_id)
    if ctx.clock.now() >= row.expires_at:
        raise fail("plan_stale", value=plan_id, what="the time of two minutes", what_zh="两分钟的有效时间")
    return _plan(row)


def _use(ctx: Context, plan: Plan) -> None:
    """Mark it used before anything else; of two presses at once one comes too late."""
    with ctx.db.transaction() as session:
        row = session.get(PlanRow, plan.id)
        if row is None or row.used_at is not None:
            raise fail("plan_used", value=plan.id)
        row.used_at = ctx.clock.now()


def _check_confirmation(
    ctx: Context, actor: Actor, plan: Plan, said: Confirmation, pressed: bool, *, press_only: bool
) -> None:
    """The rules of contracts 1: who may say yes, and how."""
    if said.press and pressed and actor.kind in ("server", "browser"):
        return None
    if press_only:
        raise fail("needs_press", field="press", value=said.press)
    if actor.kind == "person" and actor.has("spend"):
        if said.capped:
            return _check_caps(ctx, plan, said)
        if said.terminal:
            return None
    raise fail("needs_confirmation", field="press", value=said.press)


def _check_caps(ctx: Context, plan: Plan, said: Confirmation) -> None:
    symbol = ctx.deployment.site.currency_symbol
    for what, what_zh, asked, cap in (
        ("The price per hour", "每小时价格", plan.figures.get("price_per_hour_nano"), said.max_price_nano),
        ("The cost", "费用", plan.figures.get("max_cost_nano"), said.max_cost_nano),
    ):
        if asked is not None and cap is not None and asked > cap:
            raise fail(
                "over_cap",
                value=asked,
                what=what,
                what_zh=what_zh,
                amount=format_money(asked, symbol),
                cap=format_money(cap, symbol),
            )


def _check_same(shown: dict[str, Any], now: dict[str, Any], kind: PlanKind) -> None:
    """What the person saw still holds, but for figures that may move."""
    path = _difference(shown, now, kind.moving)
    if path is not None:
        what, what_zh = kind.changed(shown, now) or (path or "the plan", path or "计划")
        raise fail("plan_stale", what=what, what_zh=what_zh, figures=now)


def _difference(shown: Any, now: Any, moving: frozenset[str], path: str = "") -> str | None:
    """The path of the first thing that differs."""
    if isinstance(shown, dict) and isinstance(now, dict):
        for key in sorted({*shown, *now} - moving):
            found = _difference(shown.get(key), now.get(key), moving, f"{path}.{key}" if path else key)
            if found is not None:
                return found
        return None
    if isinstance(shown, list) and isinstance(now, list) and len(shown) == len(now):
        for place, (left, right) in enumerate(zip(shown, now, strict=True)):
            found = _difference(left, right, moving, f"{path}[{place}]")
            if found is not None:
                return found
        return None
    return None if shown == now else path


def _plan(row: PlanRow) -> Plan:
    return Plan(
        id=row.id, kind=row.kind, user=row.user, body=row.body, figures=row.figures, expires_at=row.expires_at
    )
