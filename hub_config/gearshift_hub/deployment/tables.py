"""The tables of the file that differ from what they become: a machine and its chip as a person writes them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from gearshift.model.image import Image
from gearshift.model.machine import Chip, Machine, Plan
from gearshift.model.record import Input, Text
from pydantic import BaseModel, ConfigDict, Field

from gearshift_hub.deployment.fields import Cores, Id, Money, Size
from gearshift_hub.deployment.model import DeclaredPool, TeamTable


class ChipTable(Input):
    """`share` below 1 is a part of one chip, such as 0.5."""

    vendor: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    model: Annotated[str, Field(min_length=1)]
    count: Annotated[int, Field(ge=1)] = 1
    memory_bytes: Size | None = Field(alias="memory", default=None)
    share_milli: Annotated[Cores, Field(le=1000)] = Field(alias="share", default=1000)

    def chip(self) -> Chip:
        return Chip(
            vendor=self.vendor,
            model=self.model,
            count=self.count,
            memory_bytes=self.memory_bytes or 0,
            share_milli=self.share_milli,
        )


class MachineTable(Input):
    """A machine; without `images` it runs all of them."""

    id: Id
    title: Text
    chip: ChipTable | None = None
    cores_milli: Cores = Field(alias="cpus")
    memory_bytes: Size = Field(alias="memory")
    pool: str
    capacity: Annotated[int, Field(ge=0)]
    prices: Annotated[dict[Plan, Money], Field(min_length=1)]
    good_for: Text = Text(en="", zh="")
    images: Annotated[tuple[str, ...], Field(min_length=1)] | None = None

    def machine(self, all_images: Mapping[str, int], simulated: bool) -> Machine:
        """Images come with the memory that they need; a machine with less of it does not run them."""
        fitting = [id for id, least in all_images.items() if self.memory_bytes >= least]
        return Machine(
            id=self.id,
            title=self.title,
            chip=self.chip.chip() if self.chip else None,
            cores_milli=self.cores_milli,
            memory_bytes=self.memory_bytes,
            pool=self.pool,
            capacity=self.capacity,
            prices_per_hour_nano=self.prices,
            good_for=self.good_for,
            images=tuple(id for id in self.images or fitting if id in fitting),
            simulated=simulated and self.chip is not None,
        )


class ImageTable(Image):
    """An image: as it is, but an unknown key is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id


_NO_TEXT = {"en": "", "zh": ""}

STAND_IN: Mapping[type[BaseModel], Mapping[str, Any]] = MappingProxyType(
    {
        DeclaredPool: {"id": "unnamed"},
        ImageTable: {
            "id": "unnamed",
            "title": _NO_TEXT,
            "subtitle": _NO_TEXT,
            "runtime": "cpu",
            "python": "",
        },
        MachineTable: {
            "id": "unnamed",
            "title": _NO_TEXT,
            "cpus": 0.001,
            "memory": "1 B",
            "pool": "",
            "capacity": 0,
            "prices": {"on_demand": "0"},
        },
        TeamTable: {"id": "unnamed", "members": ()},
    }
)
"""What the checks see in place of a wrong or missing value: something that raises no second complaint."""
