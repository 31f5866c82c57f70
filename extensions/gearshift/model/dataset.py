"""What a data set or model is: a card that describes a read-only public asset, and where its materialisation stands."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from gearshift.model.record import Input, Record, Text


class DatasetFile(Input):
    """One file of the asset as it lies in the store."""

    path: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(ge=0)]


class Source(Input):
    """Where the files come from: a pinned package; further keys are read by the maker that `maker` names."""

    model_config = ConfigDict(frozen=True, extra="allow")

    package: str
    version: str
    files: tuple[str, ...] = ()
    maker: str | None = None


class Card(Input):
    """The card of a data set or model."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$")]
    title: Text
    kind: Literal["dataset", "model"]
    licence: str
    licence_url: str
    source: Source
    files: tuple[DatasetFile, ...] = ()
    size_bytes: Annotated[int, Field(ge=0)]
    samples: Annotated[int, Field(ge=0)] | None = None
    homepage: str | None = None
    description: Text
    tags: tuple[str, ...] = ()


class DatasetState(StrEnum):
    """Where an asset stands for a workspace."""

    READY = "ready"
    PREPARING = "preparing"
    ATTACHED = "attached"
    FAILED = "failed"


class DatasetStatus(Record):
    """A card with its state; `progress` in per cent while it is being prepared."""

    card: Card
    state: DatasetState
    progress: int | None = None
    path: str | None = None
    error: dict[str, Any] | None = None
