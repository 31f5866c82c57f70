"""What a workspace cost within a span of time, such as that of a cell: a part for each machine it was on meanwhile."""

from __future__ import annotations

from datetime import datetime

from gearshift.model.errors import fail
from gearshift.model.interval import Interval, cost_between, within
from gearshift.model.machine import Chip
from gearshift.model.record import Record, Text
from gearshift.model.units import duration_us, to_iso

from gearshift_hub.control.context import Context
from gearshift_hub.control.services import ledger, workspaces

US = 1_000_000


class Part(Record):
    """Time on one machine at one price. A machine that is no longer in the catalog has only its id."""

    machine: str
    title: Text | None
    chip: Chip | None
    price_per_hour_nano: int
    seconds: float
    amount_nano: int


class SpanCost(Record):
    """`on` is in the order of time, and empty where nothing was charged."""

    seconds: float
    amount_nano: int
    currency: str
    currency_symbol: str
    image: str | None
    """The digest of the workspace's image as it is now."""
    on: list[Part]


def of_workspace(ctx: Context, owner: str, name: str, start: datetime, end: datetime | None) -> SpanCost:
    """By the intervals of the ledger; without an end, or with one to come, up to now."""
    if end is not None and end < start:
        raise fail("bad_request", field="to", value=to_iso(end), allowed=[f">= {to_iso(start)}"])
    now = ctx.clock.now()
    until = now if end is None else min(end, now)
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        held = ledger.intervals_of(session, ledger.subject_of(row.id), since=start)
        image = ctx.deployment.image(row.spec["image"])
    parts = [_part(ctx, i, *span) for i in held if (span := within(i, start, until, now))]
    return SpanCost(
        seconds=duration_us(start, until) / US if start < until else 0,
        amount_nano=sum(part.amount_nano for part in parts),
        currency=ctx.deployment.site.currency,
        currency_symbol=ctx.deployment.site.currency_symbol,
        image=None if image is None else image.digest,
        on=parts,
    )


def _part(ctx: Context, interval: Interval, start: datetime, end: datetime) -> Part:
    machine = ctx.deployment.machine(interval.machine)
    return Part(
        machine=interval.machine,
        title=None if machine is None else machine.title,
        chip=None if machine is None else machine.chip,
        price_per_hour_nano=interval.price_per_hour_nano,
        seconds=duration_us(start, end) / US,
        amount_nano=cost_between(interval, start, end),
    )
