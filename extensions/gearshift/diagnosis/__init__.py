"""Knows failures of training by their words: what a rank said last becomes a cause and a remedy, or stays unknown.

The patterns are data (`patterns/*.toml`); each says in both languages what happened and what helps. A log that was
provoked on a real machine stands behind a pattern in tests/train/logs; the others are told from public reports.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from gearshift.model.job import Diagnosis, EndReason

LINE_CHARS = 1000
SPEECHLESS = frozenset({4, 9, 11})
"""Signals that end a rank before it can say why: its last lines are about something else."""
CONSEQUENCES = frozenset({"peer_gone", "interrupted"})
"""What a rank says when another one failed: only taken when nothing else fits."""


@dataclass(frozen=True)
class Pattern:
    """One recognised failure: its words, the signals and end reasons that alone stand for it, and the advice."""

    diagnosis: Diagnosis
    words: tuple[re.Pattern[str], ...]
    signals: frozenset[int]
    reasons: frozenset[EndReason]

    def said_in(self, line: str) -> bool:
        return any(word.search(line) for word in self.words)


@cache
def patterns() -> tuple[Pattern, ...]:
    """All of them, by file and then in the order they are written."""
    folder = files(__name__) / "patterns"
    pages = sorted((page for page in folder.iterdir() if page.name.endswith(".toml")), key=lambda p: p.name)
    return tuple(
        _pattern(entry) for page in pages for entry in tomllib.loads(page.read_text("utf-8"))["pattern"]
    )


@lru_cache(maxsize=512)
def diagnose(
    message: str, lines: tuple[str, ...], signal: int | None = None, reason: EndReason | None = None
) -> Diagnosis | None:
    """Why the rank failed, from its error, its last lines (newest last), the signal that ended it and the end reason.

    None is an honest answer: what is not recognised stays unknown.
    """
    found = (
        (None if signal in SPEECHLESS else _by_words(message, lines, consequences=False))
        or _first(p for p in patterns() if reason in p.reasons)
        or (None if signal in SPEECHLESS else _by_words(message, lines, consequences=True))
        or _first(p for p in patterns() if signal in p.signals)
    )
    return found.diagnosis if found else None


def _by_words(message: str, lines: Sequence[str], *, consequences: bool) -> Pattern | None:
    """The error itself counts most, then the line said last."""
    asked = [p for p in patterns() if (p.diagnosis.id in CONSEQUENCES) is consequences]
    said = [*message.splitlines(), *reversed(lines)]
    return _first(p for line in said for p in asked if p.said_in(line[:LINE_CHARS]))


def _first(found: Iterable[Pattern]) -> Pattern | None:
    return next(iter(found), None)


def _pattern(entry: dict[str, Any]) -> Pattern:
    return Pattern(
        diagnosis=Diagnosis(id=entry["id"], cause=entry["cause"], remedy=entry["remedy"]),
        words=tuple(re.compile(word) for word in entry["any"]),
        signals=frozenset(entry.get("signals", ())),
        reasons=frozenset(EndReason(reason) for reason in entry.get("reasons", ())),
    )
