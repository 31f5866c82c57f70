"""Who starts next when there is not room for all: priority, then first come, all or nothing, bounded overtaking.

In line are jobs, and workspaces that wait for a machine. A large one at the head waits until all it needs is free.
Whoever came later may start meanwhile, being smaller or of higher priority, but only `overtake_limit` times: from then
on it is *due*, goes before all who came later, and none of those starts in its pool, so that the room it needs gathers.
With a limit of 0 it is first come, first served.

This holds for jobs whose room gathers when other jobs end. Who waits for a quota of their own, or for what workspaces
hold, holds nobody up, since holding others up would not help; nor does a workspace that waits for a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from gearshift.model.job import QueuePlace
from gearshift.model.lease import Ask, Grant, Lease, Pool, Purpose, as_lease, free, grants_for
from gearshift.model.machine import Machine
from gearshift.model.quota import Quotas, Usage
from gearshift.model.record import Instant, Record


class Waiting(Record):
    """Somebody in line for `count` of a machine; `overtaken` is how often later ones have started before."""

    id: str
    machine: Machine
    count: Annotated[int, Field(ge=1)] = 1
    priority: int = 0
    since: Instant
    overtaken: Annotated[int, Field(ge=0)] = 0
    owner: str = ""
    seconds: float | None = None
    """How long it is expected to hold what it gets."""
    replacing: Lease | None = None
    """What a workspace that waits for another machine gives in exchange."""
    is_job: bool = True


class Started(Record):
    """One whose turn it is, with a grant per node."""

    id: str
    grants: tuple[Grant, ...]


class Round(Record):
    """What one look at the line decided; `waiting` is who stays, with new `overtaken` counts."""

    started: tuple[Started, ...]
    waiting: tuple[Waiting, ...]


class Expected(Record):
    """When somebody's turn is expected, and which job's end brings it."""

    at: Instant
    after: str | None = None


def in_order(line: Iterable[Waiting], overtake_limit: int | None = None) -> list[Waiting]:
    """Who is due, as they came; then higher priority first, then who came first."""

    def key(one: Waiting) -> tuple[bool, int, datetime, str]:
        due = overtake_limit is not None and one.overtaken >= overtake_limit
        return (not due, 0 if due else -one.priority, one.since, one.id)

    return sorted(line, key=key)


def next_round(
    line: Iterable[Waiting],
    pools: Sequence[Pool],
    leases: Sequence[Lease],
    overtake_limit: int,
    quotas: Quotas | None = None,
) -> Round:
    """Everybody who can start now; their grants do not overlap."""
    started: list[Started] = []
    left = {one.id: one for one in in_order(line, overtake_limit)}
    held, usage = list(leases), Usage(quotas or Quotas(), leases)
    firm = [lease for lease in leases if lease.workspace is not None]  # no end of a job frees it
    for one in list(left.values()):
        grants = None if _hindered(one, usage) else grants_for(_ask(one), pools, held)
        if grants is None:
            continue
        ahead = [other for other in left.values() if _passes(one, other) and not _hindered(other, usage)]
        passed = [other for other in ahead if grants_for(_ask(other), pools, firm) is not None]
        if any(other.overtaken >= overtake_limit for other in passed):
            continue
        started.append(Started(id=one.id, grants=grants))
        held += leased(one, grants)
        if one.is_job:
            usage.add(one.owner, one.machine.amount, one.count)
        del left[one.id]
        left |= {other.id: _overtaken(left[other.id]) for other in passed}
    return Round(started=tuple(started), waiting=tuple(left.values()))


def leased(one: Waiting, grants: Iterable[Grant]) -> list[Lease]:
    """What is held once it has started."""
    purpose = Purpose.JOB if one.is_job else Purpose.WAITLIST
    return [
        as_lease(granted, id=f"{one.id}/{node}", owner=one.owner).model_copy(
            update={"purpose": purpose, "job": one.id if one.is_job else None}
        )
        for node, granted in enumerate(grants)
    ]


def place(
    name: str,
    line: Iterable[Waiting],
    pools: Sequence[Pool],
    leases: Sequence[Lease],
    overtake_limit: int | None = None,
    quotas: Quotas | None = None,
) -> QueuePlace:
    """Where somebody stands: what they need at once, what is free, and after whom their turn comes.

    Needs are counted in devices, or in machines where the machine has none.
    """
    order = in_order(line, overtake_limit)
    index = next(number for number, one in enumerate(order) if one.id == name)
    one = order[index]
    same = [other for other in order if _same_room(other, one)]
    ahead = [other.id for other in order[:index] if _same_room(other, one)]
    holders = [lease.job for lease in leases if lease.pool == one.machine.pool and lease.job]
    after = ahead[-1] if ahead else next(iter(holders), None)
    devices = one.machine.amount.devices
    pool = next((pool for pool in pools if pool.id == one.machine.pool), None)
    usage = Usage(quotas or Quotas(), leases)
    return QueuePlace(
        position=len(ahead) + 1,
        of=len(same),
        needs=one.count * (devices or 1),
        free=_free(one, pool, leases, bool(devices)),
        after=after,
        quota=usage.hindrance(one.owner, one.machine.amount, one.count) if one.is_job else None,
        seconds=one.seconds,
    )


def expected_starts(
    line: Iterable[Waiting],
    pools: Sequence[Pool],
    leases: Sequence[Lease],
    ends: Mapping[str, datetime],
    now: datetime,
    overtake_limit: int,
    quotas: Quotas | None = None,
) -> dict[str, Expected]:
    """When each turn comes if all goes as expected and nobody else comes. `ends` tells for a lease when it is given
    back; one that is not in it is kept. Who is not in the answer waits for an end that nobody knows."""
    at, waiting, held = now, tuple(line), list(leases)
    known, found = dict(ends), dict[str, Expected]()
    after: str | None = None
    while waiting:
        lengths = {one.id: one for one in waiting}
        turn = next_round(waiting, pools, held, overtake_limit, quotas)
        for started in turn.started:
            one = lengths[started.id]
            found[one.id] = Expected(at=at, after=after)
            taken = leased(one, started.grants)
            held += taken
            if one.seconds is not None:
                known |= {lease.id: at + timedelta(seconds=one.seconds) for lease in taken}
        waiting = turn.waiting
        if turn.started:
            continue
        coming = [(known[lease.id], lease.job) for lease in held if lease.id in known]
        if not coming:
            break
        at, after = min(coming, key=lambda pair: pair[0])
        held = [lease for lease in held if lease.id not in known or known[lease.id] > at]
    return found


def would_start(
    one: Waiting,
    line: Iterable[Waiting],
    pools: Sequence[Pool],
    leases: Sequence[Lease],
    overtake_limit: int,
    quotas: Quotas | None = None,
) -> bool:
    """Whether it would start at once, in the place of whoever has its id."""
    others = [other for other in line if other.id != one.id]
    turn = next_round([*others, one], pools, leases, overtake_limit, quotas)
    return any(started.id == one.id for started in turn.started)


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


def _passes(one: Waiting, other: Waiting) -> bool:
    """Whether `other` is a job that came first and waits for the same room."""
    return other.is_job and _same_room(one, other) and (other.since, other.id) < (one.since, one.id)


def _hindered(one: Waiting, usage: Usage) -> bool:
    return one.is_job and usage.hindrance(one.owner, one.machine.amount, one.count) is not None


def _overtaken(one: Waiting) -> Waiting:
    return one.model_copy(update={"overtaken": one.overtaken + 1})


def _ask(one: Waiting) -> Ask:
    return Ask(machine=one.machine, count=one.count, replacing=one.replacing)
