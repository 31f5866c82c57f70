"""The ledger: wherever time is cut it adds up, nothing is billed twice, and no change goes unseen."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from gearshift.model.ledger import (
    GENESIS,
    Draft,
    Entry,
    EntryKind,
    Interval,
    balance,
    billed_until,
    chain,
    charge,
    correct,
    cost_between,
    credit,
    device_us,
    digest,
    overlaps,
    spent,
    split,
    unbilled,
    verify,
)
from gearshift.model.units import HOUR_US, cost_nano, duration_us, parse_money
from gearshift_testing.catalogue import NOW, gpu, gpu_half, interval, machine
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

MICROS = st.integers(0, 30 * 3600 * 10**6)
SPANS = st.tuples(MICROS, MICROS, st.integers(0, 10**13))
PRICED = st.builds(
    lambda start, length, price: interval(
        machine(),
        NOW + timedelta(microseconds=start),
        NOW + timedelta(microseconds=start + length),
        price_per_hour_nano=price,
    ),
    MICROS,
    MICROS,
    st.integers(0, 10**13),
)


def later(**span: float) -> datetime:
    return NOW + timedelta(**span)


def written(*drafts: Draft) -> list[Entry]:
    entries: list[Entry] = []
    for draft in drafts:
        entries.append(chain(entries[-1] if entries else None, draft))
    return entries


def billed(*intervals: Interval, until: datetime | None = None) -> list[Entry]:
    """All that is to be billed for these, after an opening credit."""
    usage = [charge(one, *span) for one in intervals for span in split(one, until or later(days=9))]
    return written(
        credit("A", parse_money("1000"), NOW, "opening:A"), *sorted(usage, key=lambda draft: draft.at)
    )


def in_line(spans: list[tuple[int, int, int]]) -> list[Interval]:
    """Intervals of one subject, one after the other with gaps, the price changing at each."""
    made: list[Interval] = []
    at = NOW
    for number, (gap, length, price) in enumerate(spans):
        opened = at + timedelta(microseconds=gap)
        at = opened + timedelta(microseconds=length)
        made.append(interval(machine(), opened, at, id=f"i{number}", price_per_hour_nano=price))
    return made


LINES = st.lists(SPANS, max_size=5).map(in_line)


@given(PRICED, st.lists(st.floats(0, 1), max_size=6))
def test_the_parts_of_an_interval_add_up_wherever_it_is_cut(held: Interval, where: list[float]) -> None:
    assert held.closed_at is not None
    length = duration_us(held.opened_at, held.closed_at)
    marks = sorted({0, length, *(int(length * part) for part in where)})
    points = [held.opened_at + timedelta(microseconds=mark) for mark in marks]
    parts = [cost_between(held, a, b) for a, b in pairwise(points)]
    assert sum(parts) == cost_nano(held.price_per_hour_nano, length)
    assert all(part >= 0 for part in parts)


@given(PRICED)
def test_an_interval_is_cut_at_utc_hours_without_gap_or_overlap(held: Interval) -> None:
    assert held.closed_at is not None
    pieces = split(held, later(days=9))
    edges = [held.opened_at, *(end for _, end in pieces)] if pieces else [held.opened_at]
    assert edges[-1] == held.closed_at
    assert [start for start, _ in pieces] == edges[: len(pieces)]
    assert all((edge.minute, edge.second, edge.microsecond) == (0, 0, 0) for edge in edges[1:-1])
    assert all(end - start <= timedelta(hours=1) for start, end in pieces)


@given(LINES)
def test_what_was_held_is_what_was_billed(line: list[Interval]) -> None:
    entries = billed(*line)
    report = verify(entries, line)
    assert report.ok, report.faults
    cost = sum(cost_nano(i.price_per_hour_nano, duration_us(i.opened_at, i.closed_at or NOW)) for i in line)
    assert report.total_nano == parse_money("1000") - cost
    assert balance(entries, [], later(days=9)) == report.total_nano


@given(PRICED, MICROS)
def test_billing_in_between_does_not_change_the_balance(held: Interval, now_us: int) -> None:
    now = NOW + timedelta(microseconds=now_us)
    running = held.model_copy(update={"closed_at": None})
    before = balance(written(credit("A", 5, NOW, "opening:A")), [running], now)
    after = balance(billed(running, until=now), [running], now) - parse_money("1000") + 5
    assert before == after


@given(PRICED, st.lists(MICROS, max_size=8))
def test_billing_again_and_again_bills_once(held: Interval, times: list[int]) -> None:
    entries: list[Entry] = []
    for micros in [*times, 60 * 3600 * 10**6]:
        for span in unbilled(held, entries, NOW + timedelta(microseconds=micros)):
            entries.append(chain(entries[-1] if entries else None, charge(held, *span)))
    assert held.closed_at is not None
    assert unbilled(held, entries, later(days=9)) == []
    assert verify(entries, [held]).ok
    assert -sum(entry.amount_nano for entry in entries) == cost_between(held, held.opened_at, held.closed_at)


@given(LINES, st.data())
def test_no_change_of_a_line_goes_unseen(line: list[Interval], data: st.DataObject) -> None:
    entries = billed(*line)
    index = data.draw(st.integers(0, len(entries) - 1))
    changes: dict[str, Any] = {
        "amount_nano": entries[index].amount_nano + 1,
        "account": "B",
        "note": "x",
        "source": "interval:other",
        "prev_hash": "f" * 64,
        "hash": "f" * 64,
        "at": entries[index].at + timedelta(microseconds=1),
        "seq": entries[index].seq + 1,
    }
    field = data.draw(st.sampled_from(sorted(changes)))
    entries[index] = entries[index].model_copy(update={field: changes[field]})
    report = verify(entries, line)
    assert not report.ok
    assert report.first_bad is not None


@given(LINES.filter(bool), st.data())
def test_a_line_rewritten_with_a_fitting_hash_is_found_by_its_amount(
    line: list[Interval], data: st.DataObject
) -> None:
    drafts = [Draft(**entry.model_dump(exclude={"seq", "hash", "prev_hash"})) for entry in billed(*line)]
    usage = [number for number, draft in enumerate(drafts) if draft.kind is EntryKind.USAGE]
    if usage:
        index = data.draw(st.sampled_from(usage))
        drafts[index] = drafts[index].model_copy(update={"amount_nano": drafts[index].amount_nano + 1})
        report = verify(written(*drafts), line)
        assert report.first_bad == index + 1
        assert "recomputed" in report.faults[0].text


@given(LINES, st.data())
def test_a_missing_line_is_found_even_the_last_one(line: list[Interval], data: st.DataObject) -> None:
    entries = billed(*line)
    usage = [number for number, entry in enumerate(entries) if entry.kind is EntryKind.USAGE]
    if usage:
        del entries[data.draw(st.sampled_from(usage))]
        assert not verify(entries, line).ok


def test_time_billed_twice_is_found() -> None:
    held = interval(machine(), NOW, later(minutes=10))
    entries = written(*(charge(held, *span) for span in split(held, NOW) * 2))
    assert "billed before" in verify(entries, [held]).faults[0].text


def test_a_subject_that_held_two_things_at_once_is_found() -> None:
    first = interval(machine(), NOW, later(minutes=10), id="i1")
    second = interval(machine(), later(minutes=9), later(minutes=20), id="i2")
    other = interval(machine(), NOW, later(minutes=30), id="i3", subject="A/other")
    assert overlaps([second, other, first]) == [(first, second)]
    assert overlaps([interval(machine(), NOW, id="i4"), second])
    report = verify(billed(first, second), [first, second])
    assert "overlaps" in report.faults[-1].text


@given(LINES)
def test_neighbours_do_not_overlap(line: list[Interval]) -> None:
    assert overlaps(line) == []


def test_a_short_interval_does_not_hide_a_long_one_before_it() -> None:
    long = interval(machine(), NOW, later(hours=5), id="long")
    short = interval(machine(), later(hours=1), later(hours=2), id="short")
    late = interval(machine(), later(hours=3), later(hours=6), id="late")
    assert overlaps([long, short, late]) == [(long, short), (long, late)]


def test_a_credit_rewritten_with_a_fitting_hash_is_found_by_the_line_after_it() -> None:
    held = interval(machine(), NOW, later(minutes=10))
    entries = billed(held)
    entries[0] = chain(None, credit("A", parse_money("2000"), NOW, "opening:A"))
    report = verify(entries, [held])
    assert [fault.text for fault in report.faults] == ["it does not follow the line before it"]
    assert report.first_bad == 2


def test_a_gap_in_the_numbers_is_found() -> None:
    draft = credit("A", 1, NOW, "opening:A")
    second = Entry(**draft.model_dump(), seq=2, prev_hash=GENESIS, hash=digest(2, GENESIS, draft))
    assert [fault.text for fault in verify([second], []).faults] == ["line 1 carries the number 2"]


@pytest.mark.parametrize("change", [{"account": "B"}, {"price_per_hour_nano": 1}])
def test_a_line_for_another_account_or_at_another_price_is_found(change: dict[str, Any]) -> None:
    held = interval(machine(), NOW, later(minutes=10))
    drafts = [charge(held, *span).model_copy(update=change) for span in split(held, NOW)]
    assert "not that of its interval" in verify(written(*drafts), [held]).faults[0].text


def test_usage_without_its_interval_is_found() -> None:
    held = interval(machine(), NOW, later(minutes=10))
    assert "no interval" in verify(billed(held), []).faults[0].text


def test_an_empty_ledger_adds_up() -> None:
    report = verify([], [])
    assert (report.ok, report.entries, report.head, report.total_nano) == (True, 0, GENESIS, 0)


def test_a_correction_is_a_new_line() -> None:
    held = interval(machine(), NOW, later(minutes=10))
    entries = billed(held)
    refund = correct(entries[-1], -entries[-1].amount_nano, later(hours=1), "node failed")
    entries = [*entries, chain(entries[-1], refund)]
    assert verify(entries, [held]).ok
    assert balance(entries, [], later(hours=2)) == parse_money("1000")
    assert entries[-1].source == "entry:2"


def test_a_negative_credit_is_refused() -> None:
    with pytest.raises(ValueError, match="correction"):
        credit("A", -1, NOW, "x")


def test_c47_a_switch_closes_one_interval_and_opens_the_next() -> None:
    four = interval(gpu(4), NOW, later(minutes=30), id="i1")
    one = interval(gpu(1), later(minutes=35), later(minutes=55), id="i2")
    total = spent([four, one], NOW, later(hours=1), later(hours=2))
    assert total == 2_333_333_333
    assert [spent([i], NOW, later(hours=1), later(hours=2)) for i in (four, one)] == [2 * 10**9, 333_333_333]
    assert round(device_us([four, one], NOW, later(hours=1), later(hours=2)) / 1000 / HOUR_US, 4) == 2.3333
    reverse = [
        interval(gpu(1), NOW, later(minutes=30)),
        interval(gpu(4), later(minutes=35), later(minutes=55)),
    ]
    assert spent(reverse, NOW, later(hours=1), later(hours=2)) == 1_833_333_333


def test_c47_half_a_device_is_half_a_device_hour() -> None:
    held = interval(gpu_half(), NOW, later(hours=1))
    assert device_us([held], NOW, later(hours=1), NOW) == 500 * HOUR_US
    assert spent([held], NOW, later(hours=1), NOW) == parse_money("0.50")


def test_c47_each_clock_hour_has_its_3600_seconds() -> None:
    held = interval(gpu(1), NOW, later(hours=2))
    pieces = split(held, NOW)
    assert [(end - start).total_seconds() for start, end in pieces] == [3600, 3600]
    assert [charge(held, *piece).amount_nano for piece in pieces] == [-(10**9)] * 2


def test_c47_a_price_change_applies_to_later_intervals_only() -> None:
    before = interval(gpu(1), NOW, later(hours=1), id="i1")
    after = interval(gpu(1), later(hours=1), later(hours=2), id="i2", price_per_hour_nano=2 * 10**9)
    assert spent([before, after], NOW, later(hours=2), later(hours=9)) == 3 * 10**9


@given(PRICED, st.integers(-(10**10), 10**10))
def test_c50_a_clock_that_steps_never_makes_time_negative(held: Interval, step: int) -> None:
    running = held.model_copy(update={"closed_at": None})
    now = held.opened_at + timedelta(microseconds=step)
    assert balance([], [running], now) <= 0
    entries = billed(running, until=held.opened_at + timedelta(hours=3))
    assert balance(entries, [running], now) <= balance(entries, [], now)
    assert unbilled(running, entries, now) == [] or now > billed_until(running, entries)


def test_c50_an_open_interval_never_ends_before_it_began() -> None:
    assert interval(machine(), NOW).end(later(seconds=-1)) == NOW


def test_c50_an_interval_that_would_end_before_it_began_is_refused() -> None:
    with pytest.raises(ValidationError, match="before it opened"):
        interval(machine(), NOW, later(seconds=-1))


def test_a_charge_outside_of_its_interval_is_refused() -> None:
    held = interval(machine(), NOW, later(minutes=10))
    for start, end in [
        (later(minutes=-1), NOW),
        (NOW, later(minutes=11)),
        (later(minutes=2), later(minutes=1)),
    ]:
        with pytest.raises(ValueError, match="within the interval"):
            charge(held, start, end)


def test_the_balance_of_an_account_is_its_own() -> None:
    mine, other = interval(machine(), NOW), interval(gpu(4), NOW, id="i2", owner="B", subject="B/work")
    entries = written(credit("A", 10**9, NOW, "opening:A"), credit("B", 10**9, NOW, "opening:B"))
    assert balance(entries, [mine, other], later(hours=1), "A") == 10**9 - 10**8
    assert balance(entries, [mine, other], later(hours=1), "B") == 10**9 - 4 * 10**9


def test_a_line_survives_the_database_and_keeps_its_hash() -> None:
    entries = billed(interval(machine(), NOW, later(hours=2)))
    again = [Entry.model_validate(entry.model_dump(mode="json")) for entry in entries]
    assert again == entries
    assert entries[1].prev_hash == entries[0].hash
