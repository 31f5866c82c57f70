"""Routes of money: lines of the ledger, whether it adds up, and what today has cost."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Depends, Query
from gearshift.model.errors import fail
from gearshift.model.ledger import Entry
from gearshift.model.record import Instant, Record

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import ledger, span_cost
from gearshift_hub.control.services.span_cost import SpanCost

router = APIRouter(tags=["ledger"])


class Ledger(Record):
    """Lines in their order, with what is left now."""

    entries: list[Entry]
    balance_nano: int
    rate_per_hour_nano: int


class Integrity(Record):
    """Whether every line follows from the one before it and from its interval."""

    ok: bool
    entries: int
    intervals: int
    first_bad: int | None
    head: str
    faults: list[str]
    checked_at: Instant


class Today(Record):
    """What was held today, in the deployment's time zone."""

    since: Instant
    total_nano: int
    lines: list[ledger.Line]


@router.get("/ledger")
async def get_ledger(
    start: datetime | None = Query(None, alias="from"),
    end: datetime | None = Query(None, alias="to"),
    account: str | None = None,
    limit: int = Query(1000, ge=1, le=10_000),
    actor: Actor = Depends(may.read),
    ctx: Context = Depends(context),
) -> Ledger:
    """One's own lines; an admin may name another `account`."""
    whose = account or actor.name
    actor.check_owner(whose)
    with ctx.db.transaction() as session:
        return Ledger(
            entries=ledger.entries(session, whose, _given("from", start), _given("to", end), limit),
            balance_nano=ledger.balance(session, whose, ctx.clock.now()),
            rate_per_hour_nano=ledger.rate(session, whose),
        )


@router.get("/ledger/verify")
async def verify_ledger(actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> Integrity:
    """Recompute all lines; who is not an admin sees the verdict without other people's lines."""
    return integrity(ctx, with_faults=actor.admin)


@router.get("/costs/today")
async def costs_today(actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> Today:
    """What today has cost so far, by workspace and job."""
    since = ledger.today_begins(ctx)
    with ctx.db.transaction() as session:
        return Today(
            since=since,
            total_nano=ledger.spent_since(ctx, session, actor.name, since),
            lines=ledger.lines_since(ctx, session, actor.name, since),
        )


@router.get("/workspaces/{owner}/{name}/cost")
async def get_cost(
    owner: str,
    name: str,
    start: datetime = Query(alias="from"),
    end: datetime | None = Query(None, alias="to"),
    actor: Actor = Depends(may.read),
    ctx: Context = Depends(context),
) -> SpanCost:
    """What a workspace cost within a span of time, by machine: of a cell that ran, say."""
    actor.check_owner(owner)
    return span_cost.of_workspace(ctx, owner, name, _zoned("from", start), _given("to", end))


def integrity(ctx: Context, *, with_faults: bool) -> Integrity:
    """The audit of the whole ledger."""
    with ctx.db.transaction() as session:
        report = ledger.verify(session)
    return Integrity(
        ok=report.ok,
        entries=report.entries,
        intervals=report.intervals,
        first_bad=report.first_bad,
        head=report.head,
        faults=[_fault(fault.seq, fault.text) for fault in report.faults] if with_faults else [],
        checked_at=ctx.clock.now(),
    )


def _fault(seq: int | None, text: str) -> str:
    return text if seq is None else f"line {seq}: {text}"


def _given(field: str, instant: datetime | None) -> datetime | None:
    return None if instant is None else _zoned(field, instant)


def _zoned(field: str, instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise fail("bad_request", field=field, value=str(instant), problem="a time needs a zone")
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise fail("bad_request", field=field, value=str(instant), problem="no such time in UTC") from error
