"""Who holds how much of which pool: what is free, what a machine gets, what a switch must reserve. Nothing is sold twice.

Pool    what a node has; its memory and cores are plain sums, its devices have ids
Lease   the right to an amount of one pool and to the devices named in it, until it is given back
Ask     what somebody wants: `count` of a machine, perhaps in exchange for a lease they hold
Grant   what they get: `reserve` is taken now; `amount` and `device_ids` are what the machine has in the end,
        which for an exchange is made of the reservation and of what passes over from the old lease
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.machine import Amount, Machine
from gearshift.model.record import Instant, Record

WHOLE = 1000
"""Thousandths in a device."""

_ALTERNATIVES = 3


class Device(Record):
    """A chip with an id of its own."""

    id: str
    simulated: bool = False
    memory_bytes: int = 0
    uuid: str | None = None
    driver: str = ""
    """Its version, where the box tells."""


class Pool(Record):
    """What one node has to give; cores already count the CPU overcommit."""

    id: str
    cores_milli: Annotated[int, Field(ge=0)]
    memory_bytes: Annotated[int, Field(ge=0)]
    devices: tuple[Device, ...] = ()
    node: str = "local"


class Purpose(StrEnum):
    """What a lease is for."""

    WORKSPACE = "workspace"
    SWITCH = "switch"
    JOB = "job"
    WAITLIST = "waitlist"
    """Held for somebody from the waitlist until they say yes."""


class Lease(Record):
    """Held capacity. One that is past `expires_at` still counts until it is taken back."""

    id: str
    pool: str
    machine: str
    amount: Amount
    device_ids: tuple[str, ...] = ()
    owner: str
    purpose: Purpose = Purpose.WORKSPACE
    workspace: str | None = None
    job: str | None = None
    operation: str | None = None
    expires_at: Instant | None = None


class Ask(Record):
    """`count` of a machine. With `replacing` (count 1) the old lease is exchanged; `keep_memory` says that the old
    tree is only frozen and keeps its memory until the new one is verified."""

    machine: Machine
    count: Annotated[int, Field(ge=1)] = 1
    replacing: Lease | None = None
    keep_memory: bool = False


class Grant(Record):
    """What one node of an ask gets."""

    pool: str
    machine: str
    reserve: Amount
    reserve_device_ids: tuple[str, ...]
    amount: Amount
    device_ids: tuple[str, ...]


class Availability(Record):
    """How many of a machine are free, and how many there are at all."""

    machine: str
    free: int
    total: int


def free(pool: Pool, leases: Iterable[Lease]) -> Amount:
    """What nobody holds; `devices` counts those that are wholly free."""
    held = [lease for lease in leases if lease.pool == pool.id]
    return Amount(
        cores_milli=max(0, pool.cores_milli - sum(lease.amount.cores_milli for lease in held)),
        memory_bytes=max(0, pool.memory_bytes - sum(lease.amount.memory_bytes for lease in held)),
        devices=sum(left == WHOLE for left in device_shares(pool, held).values()),
    )


def device_shares(pool: Pool, leases: Iterable[Lease]) -> dict[str, int]:
    """Free thousandths of each device, in the pool's order."""
    left = {device.id: WHOLE for device in pool.devices}
    for lease in leases:
        for device in lease.device_ids if lease.pool == pool.id else ():
            if device in left:
                left[device] -= lease.amount.share_milli
    return left


def lacks(old: Lease | None, new: Amount, pool: str | None = None, keep_memory: bool = False) -> Amount:
    """What must be reserved to go from the old lease to the new amount: the rest passes over at *stop*.

    Nothing passes over between pools. A device passes over when the old lease holds at least the share that is wanted.
    """
    if old is None or (pool is not None and old.pool != pool):
        return new
    passing = min(old.amount.devices, new.devices) if old.amount.share_milli >= new.share_milli else 0
    return Amount(
        cores_milli=max(0, new.cores_milli - old.amount.cores_milli),
        memory_bytes=new.memory_bytes if keep_memory else max(0, new.memory_bytes - old.amount.memory_bytes),
        devices=new.devices - passing,
        share_milli=new.share_milli,
    )


def grant(
    ask: Ask,
    pools: Sequence[Pool],
    leases: Sequence[Lease],
    *,
    position: int = 1,
    others: Sequence[Machine] = (),
) -> tuple[Grant, ...]:
    """A grant for each of `count`, all or nothing; else `sold_out`, with those of `others` that are free now."""
    granted = grants_for(ask, pools, leases)
    if granted is None:
        raise _sold_out(ask, pools, leases, position, others)
    return granted


def availability(machine: Machine, pools: Sequence[Pool], leases: Sequence[Lease]) -> Availability:
    """How many could be had one after the other now, and if nobody held anything."""
    return Availability(
        machine=machine.id, free=_how_many(machine, pools, leases), total=_how_many(machine, pools, ())
    )


def grants_for(ask: Ask, pools: Sequence[Pool], leases: Sequence[Lease]) -> tuple[Grant, ...] | None:
    """A grant for each of `count`, or None where there is no room for all."""
    machine = ask.machine
    pool = next((pool for pool in pools if pool.id == machine.pool), None)
    if pool is None or _in_use(ask, leases) + ask.count > machine.capacity:
        return None
    granted: list[Grant] = []
    held = list(leases)
    for number in range(ask.count):
        one = _one(pool, ask, held)
        if one is None:
            return None
        granted.append(one)
        held.append(as_lease(one, id=f"ask-{number}", owner=""))
    return tuple(granted)


def _in_use(ask: Ask, leases: Iterable[Lease]) -> int:
    """How many of the machine are held besides the one that is exchanged. During an exchange a workspace holds two
    leases of what is one machine to it."""
    holders = {lease.workspace or lease.id for lease in leases if lease.machine == ask.machine.id}
    if ask.replacing:
        holders.discard(ask.replacing.workspace or ask.replacing.id)
    return len(holders)


def _one(pool: Pool, ask: Ask, held: Sequence[Lease]) -> Grant | None:
    amount = ask.machine.amount
    reserve = lacks(ask.replacing, amount, pool.id, ask.keep_memory)
    left = free(pool, held)
    new = _pick(pool, held, reserve, ask.replacing)
    if reserve.cores_milli > left.cores_milli or reserve.memory_bytes > left.memory_bytes or new is None:
        return None
    passing = amount.devices - reserve.devices
    old = ask.replacing.device_ids[:passing] if ask.replacing else ()
    return Grant(
        pool=pool.id,
        machine=ask.machine.id,
        reserve=reserve,
        reserve_device_ids=new,
        amount=amount,
        device_ids=old + new,
    )


def _pick(pool: Pool, held: Sequence[Lease], reserve: Amount, old: Lease | None) -> tuple[str, ...] | None:
    """The devices with the least room that still suffices, so that whole ones stay whole; never one already ours."""
    ours = set(old.device_ids) if old and old.pool == pool.id else set()
    room = [
        (left, name)
        for name, left in device_shares(pool, held).items()
        if left >= reserve.share_milli and name not in ours
    ]
    if len(room) < reserve.devices:
        return None
    fullest_first = sorted(room, key=lambda pair: pair[0])
    return tuple(name for _, name in fullest_first[: reserve.devices])


def as_lease(granted: Grant, *, id: str, owner: str) -> Lease:
    """The lease that a grant takes now; for an exchange that is the reservation."""
    return Lease(
        id=id,
        owner=owner,
        pool=granted.pool,
        machine=granted.machine,
        amount=granted.reserve,
        device_ids=granted.reserve_device_ids,
    )


def _how_many(machine: Machine, pools: Sequence[Pool], leases: Sequence[Lease]) -> int:
    held = list(leases)
    for number in range(machine.capacity):
        granted = grants_for(Ask(machine=machine), pools, held)
        if granted is None:
            return number
        held.append(as_lease(granted[0], id=f"count-{number}", owner=""))
    return machine.capacity


def _sold_out(
    ask: Ask, pools: Sequence[Pool], leases: Sequence[Lease], position: int, others: Sequence[Machine]
) -> GearshiftError:
    there = availability(ask.machine, pools, leases)
    open_now = [
        other.id
        for other in others
        if other.id != ask.machine.id and availability(other, pools, leases).free >= ask.count
    ]
    return fail(
        "sold_out",
        field="machine",
        value=ask.machine.id,
        allowed=open_now[:_ALTERNATIVES],
        machine=ask.machine.id,
        asked=ask.count,
        free=there.free,
        total=there.total,
        position=position,
        alternatives=open_now[:_ALTERNATIVES],
    )
