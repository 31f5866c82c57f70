"""What is told about kernel state: one record per variable, as a plan before and as a report after.

Verdicts: `copy` travels; `rerun` cannot be written but running known cells makes it again; `cannot_move` lives in this
process only (its cells, where known, make a fresh one); `left_out` was deselected by the person. Outcomes, in the
report of a load: `copied`, `rebuilt` by running its cells, `not_rebuilt` where that failed, `lost`, `left_out`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from gearshift.state.reasons import CAUTIONS, rebuild_text, sentence


class Verdict(StrEnum):
    """What happens to a variable."""

    COPY = "copy"
    RERUN = "rerun"
    CANNOT_MOVE = "cannot_move"
    LEFT_OUT = "left_out"


class Outcome(StrEnum):
    """What became of a variable on the new machine."""

    COPIED = "copied"
    REBUILT = "rebuilt"
    NOT_REBUILT = "not_rebuilt"
    LOST = "lost"
    LEFT_OUT = "left_out"


@dataclass(frozen=True)
class Reason:
    """A stable code and the words that fill its sentence (`type`, `error`, `name`, …)."""

    code: str
    words: dict[str, str] = field(default_factory=dict)


@dataclass
class Variable:
    """One name of the namespace (or `Out[3]`) and what becomes of it.

    `cells`: for what does not travel, all that must run again, in order; else those that bound the name. `seconds`:
    what those cells took when they ran, where it was seen. `device`: the chips its memory lies on.
    """

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
    device: str | None = None
    outcome: Outcome | None = None

    @property
    def is_lost(self) -> bool:
        """Whether it needs a way back."""
        return self.verdict in (Verdict.RERUN, Verdict.CANNOT_MOVE)

    def to_json(self) -> dict[str, Any]:
        """With the sentences in both languages: `why` (also filled by notes of a variable that does travel),
        `way_back` (also under its older name `rebuild`), and `caution`: what running the cells again may do."""
        cautions = [note for note in self.notes if note.code in CAUTIONS]
        others = [note for note in self.notes if note.code not in CAUTIONS]
        failed = others if self.outcome is Outcome.NOT_REBUILT else []
        why, why_zh = self._sentences([self.reason, *failed] if self.reason else others)
        caution, caution_zh = self._sentences(cautions)
        back, back_zh = rebuild_text(self.cells) if self.is_lost else (None, None)
        return {
            **_plain(self),
            "code": self.reason.code if self.reason else None,
            "why": why,
            "why_zh": why_zh,
            "way_back": back,
            "way_back_zh": back_zh,
            "rebuild": back,
            "rebuild_zh": back_zh,
            "caution": caution,
            "caution_zh": caution_zh,
        }

    def _sentences(self, told: Iterable[Reason]) -> tuple[str | None, str | None]:
        known = {"name": self.name, "type": self.type}
        texts = [sentence(reason.code, {**known, **reason.words}) for reason in told]
        return "; ".join(en for en, _ in texts) or None, "；".join(zh for _, zh in texts) or None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Variable:
        """Reads what `to_json` wrote; the sentences are made anew."""
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        reason = known.get("reason")
        return cls(
            **{
                **known,
                "verdict": Verdict(known["verdict"]),
                "outcome": Outcome(known["outcome"]) if known.get("outcome") else None,
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


def _plain(variable: Variable) -> dict[str, Any]:
    """Its fields, without the deep copies that `asdict` makes of ten thousand of them."""
    reason = variable.reason
    return {
        **vars(variable),
        "reason": vars(reason) if reason else None,
        "notes": [vars(note) for note in variable.notes],
    }


def notes_json(notes: Iterable[Reason]) -> list[dict[str, Any]]:
    """Notes with their sentences."""
    told = []
    for note in notes:
        en, zh = sentence(note.code, note.words)
        told.append({"code": note.code, "words": note.words, "text": en, "text_zh": zh})
    return told
