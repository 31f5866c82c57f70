"""How long a stage takes, learned from those that were measured: a line through (bytes, seconds) that single bad runs
do not bend (Theil-Sen), and a median where bytes do not matter."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

APART = 32 << 20
"""Two runs whose sizes differ by less say nothing about what a byte costs."""


@dataclass(frozen=True)
class Measured:
    """One run of a stage."""

    bytes: int
    seconds: float


@dataclass(frozen=True)
class Line:
    """`fixed` seconds and so many `per_byte`."""

    fixed: float
    per_byte: float

    def at(self, size_bytes: int) -> float:
        return self.fixed + self.per_byte * size_bytes


def line(runs: Sequence[Measured], guess: Line) -> Line:
    """The line through the runs; what they cannot tell comes from the guess. Neither part is ever negative."""
    slopes = [
        (one.seconds - other.seconds) / (one.bytes - other.bytes)
        for place, one in enumerate(runs)
        for other in runs[:place]
        if abs(one.bytes - other.bytes) >= APART
    ]
    per_byte = max(statistics.median(slopes), 0.0) if slopes else _through(runs, guess)
    fixed = usual([run.seconds - per_byte * run.bytes for run in runs], guess.fixed)
    return Line(max(fixed, 0.0), per_byte)


def usual(seconds: Sequence[float], guess: float) -> float:
    """The median, or the guess where nothing was measured."""
    return statistics.median(seconds) if seconds else guess


def _through(runs: Sequence[Measured], guess: Line) -> float:
    """Large runs of one size still tell what a byte costs, given what everything else is guessed to cost."""
    large = [max(run.seconds - guess.fixed, 0.0) / run.bytes for run in runs if run.bytes >= APART]
    return usual(large, guess.per_byte)
