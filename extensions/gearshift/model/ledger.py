"""The ledger: which entries follow from what was held, and what an account has left.

Interval  a half-open span `[opened_at, closed_at)` in which a subject (a workspace, a job) held a machine at one price;
          a change of price or machine closes one and opens the next
Entry     one line of the ledger: usage is negative, credit positive. A line is never changed: a correction is a new one
Report    what an audit of all lines and intervals found
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gearshift.model.audit import Fault, Report, verify
from gearshift.model.entry import GENESIS, Draft, Entry, EntryKind, chain, digest
from gearshift.model.interval import Interval, cost_between, cut, device_us, overlaps, spent, split
from gearshift.model.units import to_iso

__all__ = [
    "GENESIS",
    "Draft",
    "Entry",
    "EntryKind",
    "Fault",
    "Interval",
    "Report",
    "accrued",
    "balance",
    "billed_until",
    "chain",
    "charge",
    "correct",
    "cost_between",
    "credit",
    "device_us",
    "digest",
    "overlaps",
    "spent",
    "split",
    "unbilled",
    "verify",
]


def unbilled(
    interval: Interval, entries: Iterable[Entry], until: datetime
) -> list[tuple[datetime, datetime]]:
    """The pieces that no entry covers yet, so that billing twice bills once."""
    return cut(billed_until(interval, entries), interval.end(until))


def billed_until(interval: Interval, entries: Iterable[Entry]) -> datetime:
    """The end of the last entry of this interval; its opening if there is none."""
    ends = (e.period_to for e in entries if e.kind is EntryKind.USAGE and e.source == interval.source)
    return max((end for end in ends if end is not None), default=interval.opened_at)


def charge(interval: Interval, start: datetime, end: datetime) -> Draft:
    """The usage entry for [start, end) of this interval."""
    if not interval.opened_at <= start <= end <= (interval.closed_at or end):
        raise ValueError(f"[{to_iso(start)}, {to_iso(end)}) is not within the interval {interval.id}")
    return Draft(
        at=end,
        account=interval.owner,
        kind=EntryKind.USAGE,
        amount_nano=-cost_between(interval, start, end),
        source=interval.source,
        period_from=start,
        period_to=end,
        price_per_hour_nano=interval.price_per_hour_nano,
        note=f"{interval.machine} {interval.subject}",
    )


def credit(account: str, amount_nano: int, at: datetime, source: str, note: str = "") -> Draft:
    """Money that comes in."""
    if amount_nano < 0:
        raise ValueError("a credit cannot be negative; write a correction")
    return Draft(
        at=at, account=account, kind=EntryKind.CREDIT, amount_nano=amount_nano, source=source, note=note
    )


def correct(wrong: Entry, amount_nano: int, at: datetime, note: str) -> Draft:
    """A new entry that puts an old one right; the old one stays."""
    return Draft(
        at=at,
        account=wrong.account,
        kind=EntryKind.CORRECTION,
        amount_nano=amount_nano,
        source=f"entry:{wrong.seq}",
        note=note,
    )


def balance(
    entries: Iterable[Entry], open_intervals: Iterable[Interval], now: datetime, account: str | None = None
) -> int:
    """Entries plus what open intervals have accrued since their last entry; of one account, or of all."""
    lines = [e for e in entries if account is None or e.account == account]
    held = [i for i in open_intervals if account is None or i.owner == account]
    return sum(e.amount_nano for e in lines) - sum(accrued(i, lines, now) for i in held)


def accrued(interval: Interval, entries: Iterable[Entry], now: datetime) -> int:
    """What an interval has cost since its last entry; nothing, if the clock stands before that."""
    start = billed_until(interval, entries)
    return cost_between(interval, start, max(start, interval.end(now)))
