"""Makes a trace by our own simulation, from a seed: people who edit, train, read, forget, and one who waits for an input."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from gearshift.model.units import to_iso
from gearshift.replay.trace import COLUMNS

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
DAYS = 5
PEOPLE = 8

What = dict[str, float]

EDITS: What = {"page": 1, "used": 1}
READS: What = {"page": 1}
TRIES: What = {"page": 1, "used": 1, "kernel": 1, "output": 1, "cpu": 0.3, "chip": 0.2}
TRAINS: What = {"page": 1, "kernel": 1, "output": 1, "cpu": 0.4, "chip": 0.9}
TRAINS_SILENTLY: What = {"kernel": 1, "cpu": 0.3, "chip": 0.95}
WAITS_SILENTLY: What = {"kernel": 1}
COPIES: What = {"terminal": 1, "cpu": 0.02}
AWAY: What = {}


def lines(seed: int) -> Iterator[str]:
    """The file, line by line."""
    chance = random.Random(seed)  # noqa: S311 - the same trace for the same seed, no secret
    yield ",".join(COLUMNS)
    for number in range(PEOPLE):
        yield from _person(chance, f"person-{number + 1}/work", chance.choice((1, 1, 2, 4)))


def _person(chance: random.Random, workspace: str, accelerators: int) -> Iterator[str]:
    for day in range(DAYS):
        at = MONDAY + timedelta(days=day, hours=8, minutes=chance.randrange(120))
        evening = MONDAY + timedelta(days=day, hours=17, minutes=chance.randrange(120))
        while at < evening:
            what, minutes = _stretch(chance)
            yield _line(workspace, at, accelerators, what)
            at += timedelta(minutes=minutes)
        yield from _night(chance, workspace, at, accelerators)
    yield _line(workspace, MONDAY + timedelta(days=DAYS, hours=8), accelerators, AWAY)


def _stretch(chance: random.Random) -> tuple[What, int]:
    """What is done next, and for how many minutes."""
    kinds = (
        (EDITS, 5, 50), (TRIES, 3, 20), (READS, 10, 100), (AWAY, 20, 90), (TRAINS, 15, 90), (COPIES, 5, 40),
    )  # fmt: skip
    what, least, most = chance.choices(kinds, weights=(6, 5, 3, 2, 2, 1))[0]
    return what, chance.randint(least, most)


def _night(chance: random.Random, workspace: str, at: datetime, accelerators: int) -> Iterator[str]:
    """A training that goes on without a word, a cell that only waits, or nothing; then it stands there until morning."""
    what, least, most = chance.choices(
        ((TRAINS_SILENTLY, 2, 9), (WAITS_SILENTLY, 1, 4), (READS, 1, 9), (AWAY, 1, 2)), weights=(3, 1, 3, 5)
    )[0]
    yield _line(workspace, at, accelerators, what)
    yield _line(workspace, at + timedelta(hours=chance.randint(least, most)), accelerators, AWAY)


def _line(workspace: str, at: datetime, accelerators: int, what: What) -> str:
    values = {"workspace": workspace, "at": to_iso(at), "accelerators": accelerators, **what}
    return ",".join(str(values.get(name, 0)) for name in COLUMNS)
