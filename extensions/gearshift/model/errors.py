"""Every error that a person or program can meet: stable code, HTTP status, a sentence in English and Chinese.

GearshiftError
├── BadInput      400, 413, 422  what was sent cannot be: names field, value and what is allowed
├── NotSignedIn   401
├── NotAllowed    402, 403
├── Missing       404
├── Conflict      409, 410       it could be, but not in the present state
└── Unavailable   5xx            our side or the machine
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any, NamedTuple

from gearshift.model.chinese import SPOKEN, in_chinese
from gearshift.model.error_kind import ErrorKind
from gearshift.model.error_table import ERRORS

__all__ = [
    "ERRORS",
    "BadInput",
    "Conflict",
    "ErrorKind",
    "GearshiftError",
    "Missing",
    "NotAllowed",
    "NotSignedIn",
    "Unavailable",
    "fail",
    "from_body",
]

_SHOWN = 80
"""A bad value of 300 characters is cut to so many in the sentence; `value` keeps it whole."""


class GearshiftError(Exception):
    """Raise what `fail` returns."""

    def __init__(
        self,
        code: str,
        status: int,
        message: str,
        message_zh: str,
        field: str | None = None,
        value: Any = None,
        allowed: Sequence[Any] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.message = message
        self.message_zh = message_zh
        self.field = field
        self.value = value
        self.allowed = None if allowed is None else list(allowed)
        self.facts = dict(facts or {})

    def body(self) -> dict[str, Any]:
        """The body of the HTTP answer."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "message_zh": self.message_zh,
                "field": self.field,
                "value": self.value,
                "allowed": self.allowed,
                "facts": self.facts,
            }
        }


class BadInput(GearshiftError):
    """What was sent cannot be."""


class NotSignedIn(GearshiftError):
    """Nobody is known to have sent it."""


class NotAllowed(GearshiftError):
    """This person may not, or cannot pay."""


class Missing(GearshiftError):
    """There is no such thing."""


class Conflict(GearshiftError):
    """Not in the present state."""


class Unavailable(GearshiftError):
    """Our side, or the machine, could not."""


def fail(
    code: str,
    field: str | None = None,
    value: Any = None,
    allowed: Sequence[Any] | None = None,
    **facts: Any,
) -> GearshiftError:
    """The error with this code, ready to be raised; facts fill the sentence and travel with it."""
    kind = ERRORS[code]
    known = {**facts, "field": field, "value": value, "allowed": allowed}
    return _class(kind.status)(
        code=code,
        status=kind.status,
        message=_say(kind.en, known, _ENGLISH),
        message_zh=_say(kind.zh, known | _spoken(facts), _CHINESE),
        field=field,
        value=value,
        allowed=allowed,
        facts=facts,
    )


def from_body(body: Mapping[str, Any], status: int) -> GearshiftError:
    """The error that an HTTP answer carries; an answer that is not ours becomes `control_unavailable`."""
    error = body.get("error")
    if not isinstance(error, Mapping) or "code" not in error:
        return fail("control_unavailable", status=status)
    return _class(status)(
        code=str(error["code"]),
        status=status,
        message=str(error.get("message", error["code"])),
        message_zh=str(error.get("message_zh", error.get("message", error["code"]))),
        field=error.get("field"),
        value=error.get("value"),
        allowed=error.get("allowed"),
        facts=error.get("facts"),
    )


def _spoken(facts: Mapping[str, Any]) -> dict[str, str]:
    """What is a phrase of ours, in Chinese: the one that came with it, or ours."""
    ours = {name: in_chinese(facts[name]) for name in SPOKEN if isinstance(facts.get(name), str)}
    return ours | {name: facts[f"{name}_zh"] for name in facts if f"{name}_zh" in facts}


def _class(status: int) -> type[GearshiftError]:
    exact = {401: NotSignedIn, 402: NotAllowed, 403: NotAllowed, 404: Missing, 409: Conflict, 410: Conflict}
    return exact.get(status, BadInput if status < 500 else Unavailable)


class _Language(NamedTuple):
    comma: str
    nothing: str


_ENGLISH = _Language(", ", "none")
_CHINESE = _Language("、", "无")
_UNKNOWN = "–"
"""The dash that every screen shows for an unknown figure."""
_OPTIONAL = re.compile(r"\[\[(.*?)\]\]")


def _say(template: str, facts: Mapping[str, Any], language: _Language) -> str:
    """Fill the sentence; a clause in [[ ]] is left out when one of its facts is unknown."""
    sentence = _Sentence(language)

    def clause(match: re.Match[str]) -> str:
        fields = (name for _, name, _, _ in sentence.parse(match[1]) if name)
        return match[1] if all(_fact(facts, name) is not None for name in fields) else ""

    return sentence.vformat(_OPTIONAL.sub(clause, template), (), facts)


def _fact(facts: Mapping[str, Any], name: str) -> Any:
    """A fact by name; `what_zh` falls back on `what`."""
    value = facts.get(name)
    return facts.get(name.removesuffix("_zh")) if value is None else value


class _Sentence(Formatter):
    """A missing fact is shown as unknown: an error must never fail while it is being told."""

    def __init__(self, language: _Language) -> None:
        self._language = language

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return _fact(kwargs, str(key))

    def convert_field(self, value: Any, conversion: Any) -> str:
        if value is None:
            return _UNKNOWN
        if isinstance(value, (list, tuple)):
            return self._language.comma.join(map(str, value)) or self._language.nothing
        text = repr(value) if conversion == "r" else str(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
