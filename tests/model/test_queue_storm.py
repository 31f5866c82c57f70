"""The queue in a storm of 10,000 random submits, cancels and ends: never oversold, never stuck, overtaken within bounds.

The books are kept here once more, apart from the model: who came when, who holds what, who passed whom.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from gearshift.model.lease import Lease, device_shares
from gearshift.model.queue import Waiting, expected_starts, leased, next_round
from gearshift.model.quota import Quota, Quotas, Team
from gearshift_testing.catalogue import NOW, gpu, gpu_half, machine, pool

MACHINES = (
    machine(),
    gpu(1),
    gpu(2),
    gpu(4),
    gpu_half(),
    gpu(1, name="far", pool="far"),
    gpu(2, name="far-2", pool="far"),
)
POOLS = (pool(8, cores=16), pool(2, name="far"))
QUOTAS = Quotas(
    person=Quota(chips=6, nodes=8), teams=(Team(id="vision", members=("ann", "ben", "cem"), chips=7),)
)
PEOPLE = ("ann", "ben", "cem", "dee", "eva")
EVENTS, LONGEST_LINE = 10_000, 12


@dataclass
class Storm:
    """The world of one storm, and what it must never see."""

    limit: int
    random: random.Random
    line: tuple[Waiting, ...] = ()
    running: dict[str, list[Lease]] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    submitted: int = 0
    started: int = 0
    most_passed: int = 0

    def submit(self) -> None:
        kind = self.random.choice(MACHINES)
        most = min(4, kind.capacity, 2 if kind.pool == "far" else 4)
        fitting = [n for n in range(1, most + 1) if n * kind.device_milli <= 6000 and self.fits(kind.id, n)]
        self.submitted += 1
        one = Waiting(
            id=f"job-{self.submitted:05d}",
            machine=kind,
            count=self.random.choice(fitting),
            priority=self.random.choice((-1, 0, 0, 0, 5)),
            since=NOW + timedelta(seconds=self.submitted // 2),
            owner=self.random.choice(PEOPLE),
        )
        self.line = (*self.line, one)
        self.passed[one.id] = 0

    @staticmethod
    def fits(kind: str, count: int) -> bool:
        """Each alone finds room in an empty world: control refuses others when they are sent."""
        return count <= {"gpu-4": 1, "far-2": 1, "gpu-2": 3}.get(kind, 4)

    def cancel(self) -> None:
        if self.line:
            gone = self.random.choice(self.line).id
            self.line = tuple(one for one in self.line if one.id != gone)

    def finish(self) -> None:
        if self.running:
            del self.running[self.random.choice(list(self.running))]

    @property
    def leases(self) -> list[Lease]:
        return [lease for held in self.running.values() for lease in held]

    def used(self, people: tuple[str, ...]) -> tuple[int, int]:
        """Thousandths of chips, and nodes."""
        held = [lease for lease in self.leases if lease.owner in people]
        return sum(lease.amount.devices * lease.amount.share_milli for lease in held), len(held)

    def hindered(self, one: Waiting) -> bool:
        chips, nodes = self.used((one.owner,))
        wanted = one.count * one.machine.device_milli
        team = QUOTAS.team_of(one.owner)
        over_team = team is not None and bool(wanted) and self.used(team.members)[0] + wanted > 7000
        return (bool(wanted) and chips + wanted > 6000) or nodes + one.count > 8 or over_team

    def turn(self) -> int:
        """One look at the line, written into the books; how many have started."""
        before = {one.id: one for one in self.line}
        result = next_round(self.line, POOLS, self.leases, self.limit, QUOTAS)
        self.line = result.waiting
        waiting = [before[one.id] for one in result.waiting]
        for started in result.started:
            one = before[started.id]
            assert len(started.grants) == one.count, "all of it or nothing"
            for other in waiting:
                earlier = (other.since, other.id) < (one.since, one.id)
                if earlier and other.machine.pool == one.machine.pool and not self.hindered(other):
                    self.passed[other.id] += 1
            self.running[one.id] = leased(one, started.grants)
        self.started += len(result.started)
        return len(result.started)

    def check(self) -> None:
        for there in POOLS:
            held = [lease for lease in self.leases if lease.pool == there.id]
            assert all(left >= 0 for left in device_shares(there, held).values()), "a chip is sold twice"
            assert sum(lease.amount.cores_milli for lease in held) <= there.cores_milli
            assert sum(lease.amount.memory_bytes for lease in held) <= there.memory_bytes
        for kind in MACHINES:
            assert sum(lease.machine == kind.id for lease in self.leases) <= kind.capacity
        for who in (("ann", "ben", "cem"), *((name,) for name in PEOPLE)):
            chips, nodes = self.used(who)
            assert chips <= (7000 if len(who) > 1 else 6000)
            assert len(who) > 1 or nodes <= 8
        self.most_passed = max(self.most_passed, *(self.passed[one.id] for one in self.line), 0)
        assert self.most_passed <= self.limit
        if not self.running:
            assert not self.line, "there is all the room in the world, and somebody waits"


@pytest.mark.parametrize("limit", [0, 3])
def test_ten_thousand_events_never_oversell_never_deadlock_and_overtake_within_the_bound(limit: int) -> None:
    storm = Storm(limit, random.Random(20261201 + limit))
    for _ in range(EVENTS):
        full = len(storm.line) >= LONGEST_LINE
        event = storm.random.choices((storm.submit, storm.cancel, storm.finish), (0 if full else 5, 1, 4))[0]
        event()
        storm.turn()
        storm.check()
    while storm.running:
        storm.finish()
        storm.turn()
        storm.check()
    assert storm.line == ()
    assert storm.started > EVENTS // 8
    assert storm.most_passed == limit, "the storm is strong enough to reach the bound"


def test_expected_starts_follow_the_ends_that_are_known_and_no_others() -> None:
    running = Waiting(id="first", machine=gpu(4), since=NOW, owner="ann")
    (taken,) = leased(running, next_round([running], [pool()], [], 3).started[0].grants)
    end = NOW + timedelta(minutes=12)
    line = [
        Waiting(id="second", machine=gpu(4), since=NOW, seconds=600.0),
        Waiting(id="third", machine=gpu(2), since=NOW + timedelta(seconds=1)),
        Waiting(id="fourth", machine=gpu(4), since=NOW + timedelta(seconds=2)),
    ]
    found = expected_starts(line, [pool()], [taken], {taken.id: end}, NOW, 3)
    assert (found["second"].at, found["second"].after) == (end, "first")
    assert (found["third"].at, found["third"].after) == (end + timedelta(minutes=10), "second")
    assert "fourth" not in found, "nobody knows when the third ends"
    assert expected_starts(line, [pool()], [taken], {}, NOW, 3) == {}
