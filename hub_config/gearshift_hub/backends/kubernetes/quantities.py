"""How Kubernetes writes amounts: `500m` cores, `2Gi` bytes."""

from __future__ import annotations

from decimal import Decimal

_FACTORS = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** (power + 1) for power, letter in enumerate("kMGTPE")},
    **{f"{letter}i": Decimal(1024) ** (power + 1) for power, letter in enumerate("KMGTPE")},
}


def amount(text: str) -> Decimal:
    """The number that such a text stands for."""
    number = text.rstrip("inumkKMGTPE") if not text[-1:].isdigit() else text
    return Decimal(number) * _FACTORS[text[len(number) :]]


def milli(text: str) -> int:
    return int(amount(text) * 1000)


def whole(text: str) -> int:
    return int(amount(text))
