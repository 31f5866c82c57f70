"""What is wrong with something a person wrote: each fault with its path, its value and what is allowed there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.record import Record

M = TypeVar("M", bound=BaseModel)


class Problem(Record):
    """`key: value` is wrong because; `remedy` says what to do."""

    key: str
    value: Any = None
    because: str
    allowed: tuple[str, ...] = ()
    remedy: str = ""

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {shown(self.value)}"
        allowed = f" Allowed: {', '.join(self.allowed)}." if self.allowed else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{self.key}{value}: {self.because}.{allowed}{remedy}"


def shown(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def parse(model: type[M], data: Mapping[str, Any]) -> M:
    """The model, or `bad_request` that names the first wrong field; all of them are in the facts."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise refused(error, model) from error


def refused(error: ValidationError, model: type[BaseModel] | None = None) -> GearshiftError:
    """The error `bad_request` for something that did not validate."""
    found = problems(error, model)
    first = found[0]
    return fail(
        "bad_request",
        field=first.key,
        value=first.value,
        allowed=list(first.allowed) or None,
        problem=first.because,
        problems=[str(problem) for problem in found],
    )


def problems(error: ValidationError, model: type[BaseModel] | None = None, prefix: str = "") -> list[Problem]:
    """Each fault that pydantic found, in our words."""
    return [_problem(found, model, prefix) for found in error.errors(include_url=False)]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that was most likely meant."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)


def path(loc: Iterable[str | int], prefix: str = "") -> str:
    """`("machines", 1, "id")` -> `machines[1].id`; pydantic's mark for the key of a mapping is left out."""
    text = prefix
    for part in loc:
        if part == "[key]":
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _problem(found: Any, model: type[BaseModel] | None, prefix: str) -> Problem:
    loc, kind, value = found["loc"], found["type"], found["input"]
    key = path(loc, prefix)
    if kind == "extra_forbidden":
        fields = _fields_at(model, loc[:-1])
        hint = nearest(str(loc[-1]), fields)
        remedy = f"Did you mean {hint!r}?" if hint else "Remove it."
        return Problem(
            key=key, value=_plain(value), because="unknown key", allowed=tuple(fields), remedy=remedy
        )
    if kind == "missing":
        return Problem(key=key, because="it is missing", remedy="Add it.")
    said = found["msg"].removeprefix("Value error, ").rstrip(".")
    allowed = tuple(_allowed(found))
    return Problem(key=key, value=_plain(value), because=said[:1].lower() + said[1:], allowed=allowed)


def _allowed(found: Any) -> list[str]:
    context = found.get("ctx", {})
    expected = context.get("expected")
    if isinstance(expected, str) and found["type"] in {"enum", "literal_error"}:
        return [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]
    signs = {"ge": ">= {}", "gt": "> {}", "le": "<= {}", "lt": "< {}", "pattern": "{}"}
    return [sign.format(context[name]) for name, sign in signs.items() if name in context]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else shown(value)


def _fields_at(model: type[BaseModel] | None, loc: Iterable[str | int]) -> list[str]:
    """The field names that are known at this place."""
    here = model
    for part in loc:
        if here is None or isinstance(part, int):
            continue
        field = here.model_fields.get(part)
        here = _model_in(field.annotation) if field else None
    return [] if here is None else [field.alias or name for name, field in here.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `tuple[Model, ...]`, `Model | None` and the like."""
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)
