"""What is told about kernel state: one record per variable, as a plan before and as a report after.

Verdicts: `copy` travels; `rerun` cannot be written but running a known cell makes it again; `cannot_move` lives in
this process only; `left_out` was deselected by the person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from gearshift.state.reasons import rebuild_text, sentence


class Verdict(StrEnum):
    """What happens to a variable."""

    COPY = "copy"
    RERUN = "rerun"
    CANNOT_MOVE = "cannot_move"
    LEFT_OUT = "left_out"


@dataclass(frozen=True)
class Reason:
    """A stable code and the words that fill its sentence (`type`, `error`, `name`, …)."""

    code: str
    words: dict[str, str] = field(default_factory=dict)


@dataclass
class Variable:
    """One name of the namespace (or `Out[3]`) and what becomes of it."""

    name: str
    type: str
    kind: str
    where: str
    bytes: int
    verdict: Verdict = Verdict.COPY
    reason: Reason | None = None
    notes: list[Reason] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        """With the sentences in both languages; `why` is also filled by notes of a variable that does travel."""
        told = [self.reason] if self.reason else self.notes
        known = {"name": self.name, "type": self.type}
        why = [sentence(reason.code, {**known, **reason.words}) for reason in told]
        rebuild = rebuild_text(self.cells) if self.verdict in (Verdict.RERUN, Verdict.CANNOT_MOVE) else None
        return {
            **asdict(self),
            "code": self.reason.code if self.reason else None,
            "why": "; ".join(en for en, _ in why) or None,
            "why_zh": "；".join(zh for _, zh in why) or None,
            "rebuild": rebuild[0] if rebuild else None,
            "rebuild_zh": rebuild[1] if rebuild else None,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Variable:
        """Reads what `to_json` wrote; the sentences are made anew."""
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        reason = known.get("reason")
        return cls(
            **{
                **known,
                "verdict": Verdict(known["verdict"]),
                "reason": Reason(**reason) if reason else None,
                "notes": [Reason(**note) for note in known.get("notes", [])],
            }
        )


@dataclass
class Report:
    """All variables, the bytes of the whole, how long it took, and what else is worth saying."""

    variables: list[Variable]
    bytes: int
    seconds: float
    notes: list[Reason] = field(default_factory=list)
    path: str | None = None

    @property
    def moved(self) -> list[Variable]:
        """Those that travel or travelled."""
        return [v for v in self.variables if v.verdict is Verdict.COPY]

    @property
    def named(self) -> list[Variable]:
        """Those that do not, each with its reason."""
        return [v for v in self.variables if v.verdict is not Verdict.COPY]

    def variable(self, name: str) -> Variable:
        """The record of this name; KeyError where there is none."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """As routes answer it."""
        return {
            "variables": [v.to_json() for v in self.variables],
            "bytes": self.bytes,
            "seconds": self.seconds,
            "moved": len(self.moved),
            "notes": notes_json(self.notes),
            "file": self.path,
        }


class Plan(Report):
    """The same before anything happens; `seconds` is what planning took."""


def notes_json(notes: Iterable[Reason]) -> list[dict[str, Any]]:
    """Notes with their sentences."""
    told = []
    for note in notes:
        en, zh = sentence(note.code, note.words)
        told.append({"code": note.code, "words": note.words, "text": en, "text_zh": zh})
    return told
