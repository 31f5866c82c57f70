"""Bytes, money and time are exact: what is written can be read, and the one rounding rule is half-even."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import pytest
from gearshift.model.units import (
    HOUR_US,
    cost_nano,
    divide_half_even,
    duration_us,
    format_bytes,
    format_money,
    from_iso,
    parse_bytes,
    parse_money,
    to_iso,
)
from hypothesis import given
from hypothesis import strategies as st

INSTANTS = st.datetimes(
    datetime(1970, 1, 2), datetime(2300, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=8))])
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2 GiB", 2**31),
        ("50 GB", 50 * 10**9),
        ("1.5kB", 1500),
        ("500mb", 5 * 10**8),
        ("7 B", 7),
        ("1 TiB", 2**40),
    ],
)
def test_a_size_is_a_number_and_a_unit(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "2", "GiB", "-1 GB", "2 GiBs", "1e3 MB", "0.5 B", "٣ GB", "1 024 MB"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"size|bytes"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (53_687_091_200, "53.7 GB"), (5 * 10**15, "5000 TB")],
)
def test_sizes_are_shown_decimal(size: int, text: str) -> None:
    assert format_bytes(size) == text


@given(st.integers(-(10**18), 10**18))
def test_money_that_is_printed_whole_reads_the_same(nano: int) -> None:
    assert parse_money(format_money(nano, "", 9).replace(",", "")) == nano


@given(st.integers(-(10**18), 10**18), st.integers(0, 9))
def test_money_is_shown_rounded_half_even(nano: int, places: int) -> None:
    exact = (Decimal(nano) / 10**9).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
    shown = Decimal(format_money(nano, "", places).replace(",", ""))
    assert shown == exact


def test_money_is_shown_as_the_screens_show_it() -> None:
    assert format_money(1_846_200_000_000, "¥") == "¥1,846.20"
    assert format_money(-1_500_000_000, "€") == "-€1.50"
    assert format_money(-1, "¥") == "¥0.00"
    assert format_money(2_333_333_333, "", 4) == "2.3333"


@pytest.mark.parametrize("text", ["", "1,50", "¥1", "1e3", "0.1234567891", "NaN", "inf", "٣"])
def test_what_is_not_an_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"amount|decimals"):
        parse_money(text)


@given(st.integers(0, 10**15), st.integers(0, 400 * 24 * HOUR_US))
def test_a_cost_is_price_times_hours_rounded_half_even(price: int, duration: int) -> None:
    assert cost_nano(price, duration) == round(Fraction(price * duration, HOUR_US))


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**15))
def test_division_rounds_like_fractions_do(numerator: int, denominator: int) -> None:
    assert divide_half_even(numerator, denominator) == round(Fraction(numerator, denominator))


@pytest.mark.parametrize(
    ("numerator", "rounded"), [(1, 0), (3, 2), (5, 2), (7, 4), (-1, 0), (-3, -2), (-5, -2)]
)
def test_a_tie_goes_to_the_even_neighbour(numerator: int, rounded: int) -> None:
    assert divide_half_even(numerator, 2) == rounded


def test_an_hour_costs_the_price_of_an_hour() -> None:
    assert cost_nano(parse_money("0.72"), HOUR_US) == 720_000_000


@pytest.mark.parametrize(("price", "duration"), [(1, -1), (-1, 1)])
def test_negative_time_and_prices_are_refused(price: int, duration: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        cost_nano(price, duration)


@given(INSTANTS)
def test_an_instant_survives_its_text(instant: datetime) -> None:
    text = to_iso(instant)
    assert from_iso(text) == instant
    assert to_iso(from_iso(text)) == text
    assert text.endswith("Z")
    assert len(text) == 27


@given(INSTANTS, st.integers(0, 10**12))
def test_durations_are_exact(instant: datetime, micros: int) -> None:
    assert duration_us(instant, instant + timedelta(microseconds=micros)) == micros


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        to_iso(datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="zone"):
        from_iso("2026-01-01T00:00:00")


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_that_there_is_not_in_utc_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no time in UTC"):
        from_iso(text)
