"""What a machine is: chip, cores, memory, price per plan, and the amount of a pool that one of it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gearshift.model.record import Record, Text


class Plan(StrEnum):
    """How time on a machine is paid for."""

    ON_DEMAND = "on_demand"


class Price(Record):
    """What an hour costs under a plan."""

    plan: Plan
    price_per_hour_nano: Annotated[int, Field(ge=0)]


class Chip(Record):
    """The accelerator of a machine; `share_milli` below 1000 is a part of one chip."""

    vendor: str
    model: str
    count: Annotated[int, Field(ge=1)] = 1
    memory_bytes: Annotated[int, Field(ge=0)] = 0
    share_milli: Annotated[int, Field(ge=1, le=1000)] = 1000


class Amount(Record):
    """So much of a pool. Each of `devices` devices is taken by `share_milli` thousandths."""

    cores_milli: Annotated[int, Field(ge=0)] = 0
    memory_bytes: Annotated[int, Field(ge=0)] = 0
    devices: Annotated[int, Field(ge=0)] = 0
    share_milli: Annotated[int, Field(ge=1, le=1000)] = 1000

    @property
    def is_nothing(self) -> bool:
        return not (self.cores_milli or self.memory_bytes or self.devices)


class Machine(Record):
    """A machine of the catalog; `capacity` of it may be in use at once."""

    id: str
    title: Text
    chip: Chip | None = None
    cores_milli: Annotated[int, Field(ge=1)]
    memory_bytes: Annotated[int, Field(ge=1)]
    pool: str
    capacity: Annotated[int, Field(ge=0)]
    prices_per_hour_nano: Mapping[Plan, Annotated[int, Field(ge=0)]]
    good_for: Text
    images: tuple[str, ...]
    simulated: bool = False

    @property
    def cpus(self) -> float:
        return self.cores_milli / 1000

    @property
    def threads(self) -> int:
        """As many as thread pools should have here."""
        return math.ceil(self.cpus)

    @property
    def prices(self) -> tuple[Price, ...]:
        return tuple(Price(plan=p, price_per_hour_nano=n) for p, n in self.prices_per_hour_nano.items())

    @property
    def amount(self) -> Amount:
        """What one of this machine takes from its pool."""
        devices, share = (self.chip.count, self.chip.share_milli) if self.chip else (0, 1000)
        return Amount(
            cores_milli=self.cores_milli, memory_bytes=self.memory_bytes, devices=devices, share_milli=share
        )

    @property
    def device_milli(self) -> int:
        """Thousandths of a device: what device-hours are counted in."""
        return self.amount.devices * self.amount.share_milli

    def differs_only_in_size(self, other: Machine) -> bool:
        """Whether a switch between the two can be live: same pool and chip, only CPU and memory differ."""
        return self.pool == other.pool and self.chip == other.chip
