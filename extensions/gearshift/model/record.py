"""The two kinds of model: an Input that a person writes, a Record that a program reads; and the instant they share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from gearshift.model.units import from_iso, to_iso


def _utc(value: datetime) -> datetime:
    return from_iso(to_iso(value))


def _instant(value: object) -> object:
    return from_iso(value) if isinstance(value, str) else value


Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    AfterValidator(_utc),
    PlainSerializer(to_iso, return_type=str, when_used="json"),
]
"""An aware UTC datetime; in JSON `2026-11-30T20:52:16.123456Z`."""


class Record(BaseModel):
    """What a program reads: frozen, and a field of a newer version is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Input(BaseModel):
    """What a person writes: frozen, and a field that we do not know is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """The same model as a program reads it back: fields we do not know are passed over."""
        return cls.model_validate(data, extra="ignore")


class Text(Input):
    """A sentence or title in both languages."""

    en: str
    zh: str

    def pick(self, language: Literal["en", "zh"]) -> str:
        return self.zh if language == "zh" else self.en
