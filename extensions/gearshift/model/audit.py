"""Does the ledger add up? Every line is recomputed from the line before it and from the interval it bills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from gearshift.model.entry import GENESIS, Entry, EntryKind, digest
from gearshift.model.interval import Interval, cost_between, overlaps
from gearshift.model.record import Record
from gearshift.model.units import to_iso


class Fault(Record):
    """One thing that does not add up, with the line or the interval where it shows."""

    seq: int | None = None
    interval: str | None = None
    text: str


class Report(Record):
    """What an audit found: `ok`, how much was looked at, and each fault."""

    ok: bool
    entries: int
    intervals: int
    first_bad: int | None = None
    faults: tuple[Fault, ...] = ()
    head: str = GENESIS
    total_nano: int = 0


def verify(entries: Sequence[Entry], intervals: Iterable[Interval]) -> Report:
    """Recompute every line, in the order given, and look for time billed twice or not at all."""
    held = list(intervals)
    faults = [*_chain_faults(entries), *_usage_faults(entries, held), *_interval_faults(held)]
    bad = [fault.seq for fault in faults if fault.seq is not None]
    return Report(
        ok=not faults,
        entries=len(entries),
        intervals=len(held),
        first_bad=min(bad, default=None),
        faults=tuple(faults),
        head=entries[-1].hash if entries else GENESIS,
        total_nano=sum(entry.amount_nano for entry in entries),
    )


def _chain_faults(entries: Sequence[Entry]) -> Iterable[Fault]:
    prev_hash = GENESIS
    for seq, entry in enumerate(entries, start=1):
        if entry.seq != seq:
            yield Fault(seq=entry.seq, text=f"line {seq} carries the number {entry.seq}")
        if entry.prev_hash != prev_hash:
            yield Fault(seq=entry.seq, text="it does not follow the line before it")
        if entry.hash != digest(entry.seq, entry.prev_hash, entry):
            yield Fault(seq=entry.seq, text="it was changed after it was written")
        prev_hash = entry.hash


def _usage_faults(entries: Sequence[Entry], intervals: Sequence[Interval]) -> Iterable[Fault]:
    by_source = {interval.source: interval for interval in intervals}
    billed: dict[str, datetime] = {}
    for entry in entries:
        if entry.kind is not EntryKind.USAGE:
            continue
        interval = by_source.get(entry.source)
        if interval is None:
            yield Fault(seq=entry.seq, text=f"there is no interval {entry.source}")
            continue
        start = billed.get(entry.source, interval.opened_at)
        yield from (Fault(seq=entry.seq, interval=interval.id, text=t) for t in _line(entry, interval, start))
        billed[entry.source] = entry.period_to or start
    for interval in intervals:
        until = billed.get(interval.source, interval.opened_at)
        if interval.closed_at is not None and until < interval.closed_at:
            yield Fault(interval=interval.id, text=f"closed, but billed only up to {to_iso(until)}")


def _line(entry: Entry, interval: Interval, start: datetime) -> Iterable[str]:
    """What is wrong with one usage line, given where the interval was billed to before it."""
    begin, end = entry.period_from, entry.period_to
    if begin is None or end is None or end < begin:
        yield "usage without a period"
        return
    if begin != start:
        yield f"it begins at {to_iso(begin)}, but the time up to {to_iso(start)} is what was billed before"
    if begin < interval.opened_at or (interval.closed_at is not None and end > interval.closed_at):
        yield "it bills time outside of its interval"
        return
    if entry.price_per_hour_nano != interval.price_per_hour_nano or entry.account != interval.owner:
        yield "its price or account is not that of its interval"
    expected = -cost_between(interval, begin, end)
    if entry.amount_nano != expected:
        yield f"its amount is {entry.amount_nano}, recomputed {expected}"


def _interval_faults(intervals: Sequence[Interval]) -> Iterable[Fault]:
    for first, second in overlaps(intervals):
        yield Fault(interval=second.id, text=f"it overlaps the interval {first.id} of {second.subject}")
