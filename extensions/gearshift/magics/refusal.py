"""Errors as a cell shows them: the code, one sentence, what is allowed, what to do; no traceback of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gearshift.magics import phrases
from gearshift.model.errors import GearshiftError


class MagicError(Exception):
    """What went wrong, for the person who ran the cell."""

    def __init__(self, code: str, message: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.lines = lines

    def _render_traceback_(self) -> list[str]:
        """IPython shows this instead of a traceback."""
        return [str(self), *self.lines]


class JobFailedError(MagicError):
    """A job that was waited for did not succeed."""

    def __init__(self, job: Mapping[str, Any], sentence: str, lines: tuple[str, ...]) -> None:
        super().__init__(str(job["reason"] or job["state"]), sentence, lines)
        self.job = dict(job)


def refused(error: GearshiftError) -> MagicError:
    remedy = error.facts.get("remedy")
    lines = (f"{phrases.pick(remedy, error.facts.get('remedy_zh'))}.",) if remedy else ()
    return MagicError(error.code, phrases.pick(error.message, error.message_zh), lines)
