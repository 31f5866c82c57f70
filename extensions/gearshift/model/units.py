"""Bytes, money and time: how they are written by people, kept as integers and printed again."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

NANO = 1_000_000_000
"""Nano-units in one unit of the currency."""

HOUR_US = 3_600_000_000
"""Microseconds in an hour."""

_BYTE_UNITS = {
    "B": 1,
    **{f"{letter}B": 1000 ** (power + 1) for power, letter in enumerate("kMGTP")},
    **{f"{letter}iB": 1024 ** (power + 1) for power, letter in enumerate("KMGTP")},
}
_BYTES = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", re.ASCII)
_MONEY = re.compile(r"\s*-?\d+(\.\d+)?\s*", re.ASCII)


def parse_bytes(text: str) -> int:
    """`"2 GiB"` -> 2147483648. A number alone is refused: its unit would be a guess."""
    match = _BYTES.fullmatch(text)
    unit = _BYTE_UNITS.get(_spelling(match[2])) if match else None
    if match is None or unit is None:
        raise ValueError(f"{text!r} is not a size; write a number and a unit, such as '2 GiB' or '500 MB'")
    size = Decimal(match[1]) * unit
    if size != int(size):
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(size)


def _spelling(unit: str) -> str:
    """`gib` and `GIB` mean `GiB`; `KB` means `kB`."""
    lower = unit.lower()
    return next((known for known in _BYTE_UNITS if known.lower() == lower), unit)


def format_bytes(size_bytes: int) -> str:
    """Decimal, as the screens show it: `4.3 GB`, `512 MB`, `17 B`."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    for unit in ("kB", "MB", "GB", "TB"):
        scale = _BYTE_UNITS[unit]
        if size_bytes < scale * 1000 or unit == "TB":
            break
    number = f"{Decimal(size_bytes) / scale:.1f}"
    return f"{number.removesuffix('.0')} {unit}"


def parse_money(text: str) -> int:
    """`"0.10"` -> 100000000 nano-units. More than nine decimals cannot be kept and are refused."""
    if not _MONEY.fullmatch(text):
        raise ValueError(f"{text!r} is not an amount; write it like '0.72'")
    try:
        nano = Decimal(text.strip()).scaleb(9)
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is not an amount; write it like '0.72'") from error
    if nano != nano.to_integral_value():
        raise ValueError(f"{text!r} has more than nine decimals")
    return int(nano)


def format_money(nano: int, symbol: str, places: int = 2) -> str:
    """`1846200000000` -> `¥1,846.20`; rounded half-even, the sign before the symbol."""
    unit = 10 ** (9 - places)
    steps = divide_half_even(abs(nano), unit)
    sign = "-" if nano < 0 and steps else ""
    whole, part = divmod(steps, 10**places)
    return f"{sign}{symbol}{whole:,}" + (f".{part:0{places}d}" if places else "")


def cost_nano(price_per_hour_nano: int, duration_us: int) -> int:
    """What so many microseconds cost at this price per hour; the one rounding rule: half-even."""
    if duration_us < 0:
        raise ValueError(f"a duration cannot be negative: {duration_us} us")
    if price_per_hour_nano < 0:
        raise ValueError(f"a price cannot be negative: {price_per_hour_nano}")
    return divide_half_even(price_per_hour_nano * duration_us, HOUR_US)


def divide_half_even(numerator: int, denominator: int) -> int:
    """`numerator / denominator`, a tie going to the even neighbour; `denominator` is positive."""
    quotient, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and quotient % 2):
        return quotient + 1
    return quotient


def duration_us(start: datetime, end: datetime) -> int:
    """Microseconds from start to end, exactly."""
    return (end - start) // timedelta(microseconds=1)


def to_iso(instant: datetime) -> str:
    """`2026-11-30T20:52:16.123456Z`; a time without a zone is refused."""
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} has no time zone")
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def from_iso(text: str) -> datetime:
    """The instant written by `to_iso` or by any ISO 8601 writer that names a zone."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is no time in UTC") from error
