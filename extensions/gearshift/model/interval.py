"""Held time: half-open spans in which a subject held a machine at one price, and what any part of them costs.

Rounding is half-even and per interval: the cost of [a, b) is the rounded cost up to b less the rounded cost up to a, so
the parts of an interval add up to the rounded cost of the whole, wherever it was cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from gearshift.model.record import Instant, Record
from gearshift.model.units import cost_nano, duration_us


class Interval(Record):
    """Held time. `source` names it in the ledger (`interval:ID` unless said otherwise). A `subject`
    holds at most one interval at a time."""

    id: str
    owner: str
    subject: str
    machine: str
    price_per_hour_nano: Annotated[int, Field(ge=0)]
    device_milli: Annotated[int, Field(ge=0)] = 0
    opened_at: Instant
    closed_at: Instant | None = None
    source: str = ""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("source"):
            return {**data, "source": f"interval:{data.get('id')}"}
        return data

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.closed_at is not None and self.closed_at < self.opened_at:
            raise ValueError(f"the interval {self.id} would close before it opened")
        return self

    def end(self, now: datetime) -> datetime:
        """Where it ends, or has come to by now; never before it opened, whatever the clock did."""
        return self.closed_at or max(now, self.opened_at)


def split(interval: Interval, until: datetime) -> list[tuple[datetime, datetime]]:
    """The interval up to its close, or up to `until` while open, cut at each UTC hour."""
    return cut(interval.opened_at, interval.end(until))


def cost_between(interval: Interval, start: datetime, end: datetime) -> int:
    """What [start, end) of an interval costs, such that neighbouring pieces add up exactly."""
    price = interval.price_per_hour_nano
    upto_end = cost_nano(price, duration_us(interval.opened_at, end))
    return upto_end - cost_nano(price, duration_us(interval.opened_at, start))


def spent(intervals: Iterable[Interval], start: datetime, end: datetime, now: datetime) -> int:
    """What all of these cost within [start, end), open ones up to now."""
    return sum(cost_between(i, *span) for i in intervals if (span := within(i, start, end, now)))


def device_us(intervals: Iterable[Interval], start: datetime, end: datetime, now: datetime) -> int:
    """Device-microseconds held within [start, end), in thousandths of a device: device-hours without rounding."""
    return sum(i.device_milli * duration_us(*span) for i in intervals if (span := within(i, start, end, now)))


def overlaps(intervals: Iterable[Interval]) -> list[tuple[Interval, Interval]]:
    """Pairs in which one subject held two things at once: there must be none."""
    pairs: list[tuple[Interval, Interval]] = []
    furthest: dict[str, Interval] = {}
    for interval in sorted(intervals, key=lambda each: (each.opened_at, each.id)):
        if interval.closed_at == interval.opened_at:
            continue
        before = furthest.get(interval.subject)
        if before is not None and _reach(before) > interval.opened_at:
            pairs.append((before, interval))
        if before is None or _reach(interval) > _reach(before):
            furthest[interval.subject] = interval
    return pairs


def cut(start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """[start, end) cut at each UTC hour."""
    pieces: list[tuple[datetime, datetime]] = []
    while start < end:
        stop = min(end, _next_hour(start))
        pieces.append((start, stop))
        start = stop
    return pieces


def within(
    interval: Interval, start: datetime, end: datetime, now: datetime
) -> tuple[datetime, datetime] | None:
    """The part of [start, end) in which it was held, up to now."""
    first, last = max(start, interval.opened_at), min(end, interval.end(now))
    return (first, last) if first < last else None


def _reach(interval: Interval) -> datetime:
    """An open interval reaches without end."""
    return interval.closed_at or datetime.max.replace(tzinfo=UTC)


def _next_hour(instant: datetime) -> datetime:
    return instant.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
