"""Who starts next when there is not room for all: priority, then first come, all or nothing, bounded overtaking.

A large job at the head waits until all it needs is free. Smaller ones behind it may start meanwhile, but only
`overtake_limit` times: from then on nothing behind it starts, so that the room it needs gathers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field

from gearshift.model.errors import GearshiftError
from gearshift.model.job import QueuePlace
from gearshift.model.lease import Ask, Grant, Lease, Pool, as_lease, free, grant
from gearshift.model.machine import Machine
from gearshift.model.record import Instant, Record


class Waiting(Record):
    """Somebody in line for `count` of a machine; `overtaken` is how often later ones have started before."""

    id: str
    machine: Machine
    count: Annotated[int, Field(ge=1)] = 1
    priority: int = 0
    since: Instant
    overtaken: Annotated[int, Field(ge=0)] = 0


class Started(Record):
    """One whose turn it is, with a grant per node."""

    id: str
    grants: tuple[Grant, ...]


class Round(Record):
    """What one look at the line decided; `waiting` is who stays, with new `overtaken` counts."""

    started: tuple[Started, ...]
    waiting: tuple[Waiting, ...]


def in_order(line: Iterable[Waiting]) -> list[Waiting]:
    """Higher priority first, then who came first."""
    return sorted(line, key=lambda one: (-one.priority, one.since, one.id))


def next_round(
    line: Iterable[Waiting], pools: Sequence[Pool], leases: Sequence[Lease], overtake_limit: int
) -> Round:
    """Everybody who can start now; their grants do not overlap."""
    started: list[Started] = []
    waiting: list[Waiting] = []
    held = list(leases)
    for one in in_order(line):
        blocked = any(_same_room(one, ahead) and ahead.overtaken >= overtake_limit for ahead in waiting)
        grants = None if blocked else _granted(one, pools, held)
        if grants is None:
            waiting.append(one)
            continue
        started.append(Started(id=one.id, grants=grants))
        held += [as_lease(g, id=f"{one.id}/{node}", owner="") for node, g in enumerate(grants)]
        waiting = [_overtaken(ahead) if _same_room(one, ahead) else ahead for ahead in waiting]
    return Round(started=tuple(started), waiting=tuple(waiting))


def place(name: str, line: Iterable[Waiting], pools: Sequence[Pool], leases: Sequence[Lease]) -> QueuePlace:
    """Where somebody stands: what they need at once, what is free, and after whom their turn comes.

    Needs are counted in devices, or in machines where the machine has none.
    """
    order = in_order(line)
    index = next(number for number, one in enumerate(order) if one.id == name)
    one = order[index]
    ahead = [other.id for other in order[:index] if _same_room(other, one)]
    holders = [lease.job for lease in leases if lease.pool == one.machine.pool and lease.job]
    after = ahead[-1] if ahead else next(iter(holders), None)
    devices = one.machine.amount.devices
    pool = next((pool for pool in pools if pool.id == one.machine.pool), None)
    return QueuePlace(
        position=len(ahead) + 1,
        needs=one.count * (devices or 1),
        free=_free(one, pool, leases, bool(devices)),
        after=after,
    )


def _free(one: Waiting, pool: Pool | None, leases: Sequence[Lease], devices: bool) -> int:
    if pool is None:
        return 0
    left = free(pool, leases)
    if devices:
        return left.devices
    amount = one.machine.amount
    return min(left.cores_milli // amount.cores_milli, left.memory_bytes // amount.memory_bytes)


def _same_room(one: Waiting, other: Waiting) -> bool:
    return one.machine.pool == other.machine.pool


def _overtaken(one: Waiting) -> Waiting:
    return one.model_copy(update={"overtaken": one.overtaken + 1})


def _granted(one: Waiting, pools: Sequence[Pool], held: Sequence[Lease]) -> tuple[Grant, ...] | None:
    try:
        return grant(Ask(machine=one.machine, count=one.count), pools, held)
    except GearshiftError:
        return None
