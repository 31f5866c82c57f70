"""Why a dump of one variable failed: raised by reducers, or found from the error and the object it met."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from gearshift.state.bounded import TookTooLong
from gearshift.state.kinds import type_name
from gearshift.state.reasons import code_of, file_code, is_file
from gearshift.state.report import Reason


class Refusal(pickle.PicklingError):
    """A reducer knows that this object cannot travel."""

    def __init__(self, code: str, culprit: Any = None, words: Mapping[str, str] | None = None) -> None:
        super().__init__(code)
        self.code, self.culprit, self.words = code, culprit, dict(words or {})


def explain(value: Any, culprit: Any, error: BaseException) -> Reason:
    """The code and words for a variable whose dump raised; the variable's own kind says more than its insides."""
    if isinstance(error, Refusal):
        culprit = error.culprit
        own = code_of(type(value))
        return Reason(own) if own else Reason(error.code, {**error.words, **_inside(value, culprit)})
    for thing in (value, culprit):
        code = file_code(thing) if is_file(thing) else code_of(type(thing))
        if code:
            return Reason(code, _inside(value, thing))
    if isinstance(error, TookTooLong):
        return Reason("too_slow", {**_inside(value, culprit), "seconds": f"{error.seconds:g}"})
    if isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError):
        return Reason("too_deep")
    if isinstance(error, MemoryError):
        return Reason("no_memory")
    words = {**_inside(value, culprit), "error": told(error), "culprit": type_name(culprit)}
    plain = isinstance(error, (TypeError, pickle.PicklingError)) and "pickle" in str(error)
    return Reason("no_pickle" if plain else "refuses", words)


def told(error: BaseException) -> str:
    """An error in one short line."""
    text = str(error).strip().splitlines()
    line = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
    return line if len(line) <= 200 else f"{line[:200]}…"


def _inside(value: Any, culprit: Any) -> dict[str, str]:
    return {} if culprit is None or value is culprit else {"inside": type_name(culprit)}
