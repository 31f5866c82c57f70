"""The catalogue of the cases, made in memory: machines, a pool of simulated chips, leases, with defaults for everything."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from gearshift.model.admission import Request, World
from gearshift.model.image import Image, Runtime
from gearshift.model.interval import Interval
from gearshift.model.lease import Device, Grant, Lease, Pool
from gearshift.model.machine import Chip, Machine, Plan
from gearshift.model.record import Text
from gearshift.model.units import parse_bytes, parse_money

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def text(words: str) -> Text:
    return Text(en=words, zh=words)


def image(name: str = "pytorch", runtime: Runtime = Runtime.CPU) -> Image:
    return Image(id=name, title=text(name), subtitle=text(""), runtime=runtime, python="3.11")


def machine(name: str = "cpu-small", price: str = "0.10", **changes: Any) -> Machine:
    values: dict[str, Any] = {
        "id": name,
        "title": text(name),
        "cores_milli": 1000,
        "memory_bytes": parse_bytes("2 GiB"),
        "pool": "box",
        "capacity": 8,
        "prices_per_hour_nano": {Plan.ON_DEMAND: parse_money(price)},
        "good_for": text(""),
        "images": ("pytorch",),
    }
    return Machine.model_validate({**values, **changes})


def gpu(count: int = 1, share_milli: int = 1000, name: str | None = None, **changes: Any) -> Machine:
    """`gpu-1`, `gpu-4`, ... at 1.00/h a chip."""
    chip = Chip(vendor="simulated", model="SIM", count=count, share_milli=share_milli)
    price = f"{count * share_milli / 1000:.2f}"
    return machine(
        name or f"gpu-{count}", price, **{"chip": chip, "simulated": True, "capacity": 4, **changes}
    )


def gpu_half(**changes: Any) -> Machine:
    return gpu(1, 500, "gpu-half", **changes)


def pool(devices: int = 4, cores: int = 8, memory: str = "32 GiB", name: str = "box") -> Pool:
    return Pool(
        id=name,
        cores_milli=cores * 1000,
        memory_bytes=parse_bytes(memory),
        devices=tuple(Device(id=f"d{number}", simulated=True) for number in range(devices)),
    )


def lease(kind: Machine, name: str = "l1", devices: Iterable[str] = (), owner: str = "A") -> Lease:
    """A lease on the whole of a machine."""
    return Lease(
        id=name,
        pool=kind.pool,
        machine=kind.id,
        amount=kind.amount,
        device_ids=tuple(devices),
        owner=owner,
    )


def leased(granted: Grant, name: str, owner: str = "A") -> Lease:
    """The lease a machine has in the end."""
    return Lease(
        id=name,
        pool=granted.pool,
        machine=granted.machine,
        amount=granted.amount,
        device_ids=granted.device_ids,
        owner=owner,
    )


def world(**changes: Any) -> World:
    values: dict[str, Any] = {
        "machines": (machine(), gpu(1), gpu(4), gpu_half()),
        "images": (image(),),
        "datasets": frozenset({"digits"}),
        "pools": (pool(),),
        "balance_nano": parse_money("1000"),
    }
    return World.model_validate({**values, **changes})


def request(kind: str = "cpu-small", **changes: Any) -> Request:
    return Request.model_validate({"user": "A", "machine": kind, "image": "pytorch", **changes})


def interval(
    kind: Machine, opened_at: datetime = NOW, closed_at: datetime | None = None, **changes: Any
) -> Interval:
    values: dict[str, Any] = {
        "id": "i1",
        "owner": "A",
        "subject": "A/work",
        "machine": kind.id,
        "price_per_hour_nano": kind.prices_per_hour_nano[Plan.ON_DEMAND],
        "device_milli": kind.device_milli,
        "opened_at": opened_at,
        "closed_at": closed_at,
    }
    return Interval.model_validate({**values, **changes})
