"""The ledger: intervals are opened and closed here, and charged; nothing else computes a price.

All functions take the session of the change they belong to, so that a state and its money change together.
Usage lines are written at each UTC hour and at close; between them a balance adds what open intervals have accrued.
"""

from __future__ import annotations

import secrets
from datetime import datetime, time
from zoneinfo import ZoneInfo

from gearshift.model import audit
from gearshift.model.ledger import (
    Draft,
    Entry,
    EntryKind,
    Interval,
    chain,
    charge,
    cost_between,
    credit,
    spent,
    split,
)
from gearshift.model.machine import Machine
from gearshift.model.record import Instant, Record
from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.ledger import EntryRow, IntervalRow


class Line(Record):
    """What one interval has cost within a span of time."""

    subject: str
    machine: str
    price_per_hour_nano: int
    opened_at: Instant
    closed_at: Instant | None
    amount_nano: int


def subject_of(workspace: str) -> str:
    """How the ledger names a workspace `owner/name`."""
    return f"workspace:{workspace}"


def open_interval(
    session: Session,
    *,
    owner: str,
    subject: str,
    machine: Machine,
    price_per_hour_nano: int,
    at: datetime,
    device_milli: int | None = None,
) -> Interval:
    """Held from `at` on. A subject that holds one already keeps that one: opening twice opens once."""
    found = open_of(session, subject)
    if found is not None:
        return found
    id = f"iv-{secrets.token_hex(8)}"
    row = IntervalRow(
        id=id,
        owner=owner,
        subject=subject,
        machine=machine.id,
        price_per_hour_nano=price_per_hour_nano,
        device_milli=machine.device_milli if device_milli is None else device_milli,
        opened_at=at,
        source=f"interval:{id}",
        billed_until=at,
    )
    session.add(row)
    session.flush()
    return _interval(row)


def close_interval(session: Session, subject: str, at: datetime) -> Interval | None:
    """Held until `at` (never before what was billed already); what is closed already stays as it is."""
    row = _open_row(session, subject)
    if row is None:
        return None
    row.closed_at = max(at, row.billed_until)
    session.flush()
    _bill(session, row, row.closed_at)
    return _interval(row)


def change_price(
    session: Session,
    *,
    owner: str,
    subject: str,
    machine: Machine,
    price_per_hour_nano: int,
    at: datetime,
) -> Interval:
    """One instant at which the old price ends and the new one begins: no gap, no overlap."""
    closed = close_interval(session, subject, at)
    moment = closed.closed_at if closed and closed.closed_at else at
    return open_interval(
        session,
        owner=owner,
        subject=subject,
        machine=machine,
        price_per_hour_nano=price_per_hour_nano,
        at=moment,
    )


def charge_hours(session: Session, now: datetime) -> int:
    """Write the lines of all full UTC hours that open intervals have passed; returns how many were written."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    rows = session.scalars(
        select(IntervalRow).where(IntervalRow.closed_at.is_(None), IntervalRow.billed_until < hour)
    ).all()
    return sum(_bill(session, row, hour) for row in rows)


def add_credit(
    session: Session, account: str, amount_nano: int, at: datetime, source: str, note: str = ""
) -> Entry:
    """Money that comes in, once per source."""
    found = session.scalar(select(EntryRow).where(EntryRow.source == source, EntryRow.account == account))
    if found is not None:
        return _entry(found)
    return _append(session, credit(account, amount_nano, at, source, note))


def open_of(session: Session, subject: str) -> Interval | None:
    row = _open_row(session, subject)
    return _interval(row) if row else None


def intervals(session: Session, owner: str | None = None, since: datetime | None = None) -> list[Interval]:
    """Those of one owner (or all), without those that ended before `since`."""
    query = _since(since).order_by(IntervalRow.opened_at, IntervalRow.id)
    if owner is not None:
        query = query.where(IntervalRow.owner == owner)
    return [_interval(row) for row in session.scalars(query)]


def intervals_of(session: Session, subject: str, since: datetime | None = None) -> list[Interval]:
    """The same of one subject."""
    query = _since(since).where(IntervalRow.subject == subject).order_by(IntervalRow.opened_at)
    return [_interval(row) for row in session.scalars(query)]


def _since(since: datetime | None) -> Select[IntervalRow]:
    query = select(IntervalRow)
    if since is None:
        return query
    return query.where(or_(IntervalRow.closed_at.is_(None), IntervalRow.closed_at > since))


def entries(
    session: Session,
    account: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    limit: int | None = None,
) -> list[Entry]:
    """Lines in their order; `start` and `end` bound their time, `limit` keeps the newest."""
    query = select(EntryRow).order_by(EntryRow.seq.desc())
    if account is not None:
        query = query.where(EntryRow.account == account)
    if start is not None:
        query = query.where(EntryRow.at >= start)
    if end is not None:
        query = query.where(EntryRow.at < end)
    newest_first = session.scalars(query.limit(limit) if limit else query).all()
    return [_entry(row) for row in reversed(newest_first)]


def balance(session: Session, account: str, now: datetime) -> int:
    """Entries and what is accrued by open intervals since their last line."""
    booked = session.scalar(select(func.sum(EntryRow.amount_nano)).where(EntryRow.account == account)) or 0
    rows = session.scalars(
        select(IntervalRow).where(IntervalRow.owner == account, IntervalRow.closed_at.is_(None))
    )
    return int(booked) - sum(_accrued(row, now) for row in rows)


def rate(session: Session, account: str) -> int:
    """What all that is open costs per hour now."""
    query = select(func.sum(IntervalRow.price_per_hour_nano)).where(
        IntervalRow.owner == account, IntervalRow.closed_at.is_(None)
    )
    return int(session.scalar(query) or 0)


def cost_of(session: Session, subject: str, now: datetime, since: datetime | None = None) -> int:
    """What a subject has cost so far, or since an instant."""
    held = intervals_of(session, subject)
    return spent(held, since or min((i.opened_at for i in held), default=now), now, now)


def verify(session: Session) -> audit.Report:
    """Recompute every line."""
    return audit.verify(entries(session), intervals(session))


def today_begins(ctx: Context) -> datetime:
    """Midnight in the deployment's time zone."""
    zone = ZoneInfo(ctx.deployment.site.time_zone)
    return datetime.combine(ctx.clock.now().astimezone(zone).date(), time(), zone)


def month_begins(ctx: Context) -> datetime:
    zone = ZoneInfo(ctx.deployment.site.time_zone)
    return datetime.combine(ctx.clock.now().astimezone(zone).date().replace(day=1), time(), zone)


def spent_since(ctx: Context, session: Session, account: str, start: datetime) -> int:
    now = ctx.clock.now()
    return spent(intervals(session, account, start), start, now, now)


def lines_since(ctx: Context, session: Session, account: str, start: datetime) -> list[Line]:
    """What each interval has cost since `start`, newest first."""
    now = ctx.clock.now()
    held = [i for i in intervals(session, account, start) if i.opened_at <= now]
    return [_line(interval, start, now) for interval in reversed(held)]


def _line(interval: Interval, start: datetime, now: datetime) -> Line:
    first, last = max(start, interval.opened_at), interval.end(now)
    return Line(
        subject=interval.subject,
        machine=interval.machine,
        price_per_hour_nano=interval.price_per_hour_nano,
        opened_at=interval.opened_at,
        closed_at=interval.closed_at,
        amount_nano=cost_between(interval, first, last) if first < last else 0,
    )


def _open_row(session: Session, subject: str) -> IntervalRow | None:
    return session.scalar(
        select(IntervalRow).where(IntervalRow.subject == subject, IntervalRow.closed_at.is_(None))
    )


def _bill(session: Session, row: IntervalRow, until: datetime) -> int:
    """The lines from where it was billed to, up to `until`, cut at UTC hours."""
    interval = _interval(row)
    pieces = [piece for piece in split(interval, until) if piece[1] > row.billed_until]
    for start, end in pieces:
        _append(session, charge(interval, max(start, row.billed_until), end))
        row.billed_until = end
    session.flush()
    return len(pieces)


def _append(session: Session, draft: Draft) -> Entry:
    last = session.scalar(select(EntryRow).order_by(EntryRow.seq.desc()).limit(1))
    entry = chain(_entry(last) if last else None, draft)
    session.add(EntryRow(**{name: getattr(entry, name) for name in Entry.model_fields}))
    session.flush()
    return entry


def _accrued(row: IntervalRow, now: datetime) -> int:
    start = row.billed_until
    return cost_between(_interval(row), start, max(start, now))


def _interval(row: IntervalRow) -> Interval:
    return Interval(**{name: getattr(row, name) for name in Interval.model_fields})


def _entry(row: EntryRow) -> Entry:
    values = {name: getattr(row, name) for name in Entry.model_fields}
    return Entry(**{**values, "kind": EntryKind(row.kind)})
