"""Leases: nothing is ever sold twice, whatever is asked, exchanged and given back in whatever order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from gearshift.model.errors import GearshiftError
from gearshift.model.lease import (
    Ask,
    Grant,
    Lease,
    Pool,
    as_lease,
    availability,
    device_shares,
    free,
    grant,
    lacks,
)
from gearshift.model.machine import Amount, Machine
from gearshift_testing.catalogue import NOW, gpu, gpu_half, lease, leased, machine, pool
from hypothesis import given, settings
from hypothesis import strategies as st

KINDS = (
    machine(capacity=2),
    machine("cpu-large", "0.20", cores_milli=2000),
    gpu(1, capacity=2),
    gpu(2, capacity=2),
    gpu(2, 500, "two-halves"),
    gpu(4, capacity=1),
    gpu_half(capacity=8),
    machine("elsewhere", pool="other"),
)
MACHINES = st.sampled_from(KINDS)


COMMANDS = st.lists(
    st.tuples(
        st.sampled_from(["start", "start", "job", "stop", "switch", "switch", "finish", "go back"]),
        st.sampled_from(KINDS),
        st.integers(0, 1000),
    ),
    min_size=10,
    max_size=60,
)


class Site:
    """What control's table would hold: workspaces and jobs with their leases, and switches under way."""

    def __init__(self, pools: list[Pool]) -> None:
        self.pools = pools
        self.held: dict[str, Lease] = {}
        self.switches: dict[str, tuple[Lease, Lease, Grant]] = {}
        self.made = 0

    @property
    def leases(self) -> list[Lease]:
        return list(self.held.values())

    def obey(self, command: str, kind: Machine, number: int) -> None:
        idle = sorted(self.held.keys() - {lease.id for pair in self.switches.values() for lease in pair[:2]})
        moving = sorted(self.switches)
        match command:
            case "start":
                self.start(kind, 1)
            case "job":
                self.start(kind, 1 + number % 4)
            case "stop" if idle:
                del self.held[idle[number % len(idle)]]
            case "switch" if idle:
                self.switch(self.held[idle[number % len(idle)]], kind, keep_memory=number % 2 == 0)
            case "finish" if moving:
                old, reservation, granted = self.switches.pop(moving[number % len(moving)])
                del self.held[old.id], self.held[reservation.id]
                self.add(leased(granted, self.name()), old.workspace)
            case "go back" if moving:
                _, reservation, _ = self.switches.pop(moving[number % len(moving)])
                del self.held[reservation.id]

    def start(self, kind: Machine, count: int) -> None:
        there = availability(kind, self.pools, self.leases)
        granted = had(Ask(machine=kind, count=count), self.pools, self.leases)
        assert (granted is not None) == (count <= there.free)
        for one in granted or ():
            self.add(leased(one, self.name()), self.name())

    def switch(self, old: Lease, kind: Machine, keep_memory: bool) -> None:
        granted = had(Ask(machine=kind, replacing=old, keep_memory=keep_memory), self.pools, self.leases)
        if granted is None:
            assert kind.id != old.machine or keep_memory, "sold out against itself"
            return
        reservation = self.add(as_lease(granted[0], id=self.name(), owner="A"), old.workspace)
        self.switches[str(old.workspace)] = (old, reservation, granted[0])

    def add(self, lease: Lease, workspace: str | None) -> Lease:
        self.held[lease.id] = lease.model_copy(update={"workspace": workspace})
        return self.held[lease.id]

    def name(self) -> str:
        self.made += 1
        return f"l{self.made:04}"


def had(ask: Ask, pools: Sequence[Pool], leases: Sequence[Lease]) -> tuple[Grant, ...] | None:
    try:
        return grant(ask, pools, leases)
    except GearshiftError as error:
        if error.code != "sold_out":
            raise
        return None


def never_oversold(pools: Sequence[Pool], leases: Sequence[Lease]) -> None:
    for each in pools:
        mine = [lease for lease in leases if lease.pool == each.id]
        left = free(each, mine)
        assert sum(lease.amount.cores_milli for lease in mine) + left.cores_milli == each.cores_milli
        assert sum(lease.amount.memory_bytes for lease in mine) + left.memory_bytes == each.memory_bytes
        assert all(0 <= share <= 1000 for share in device_shares(each, mine).values())
        for one in mine:
            assert len(set(one.device_ids)) == len(one.device_ids) == one.amount.devices
            assert set(one.device_ids) <= {device.id for device in each.devices}
    for kind in KINDS:
        assert len({lease.workspace for lease in leases if lease.machine == kind.id}) <= kind.capacity


@given(COMMANDS, st.integers(0, 5), st.integers(1, 12), st.integers(2, 24))
@settings(max_examples=200)
def test_nothing_is_sold_twice_whatever_is_asked_exchanged_and_given_back(
    commands: list[tuple[str, Machine, int]], devices: int, cores: int, gib: int
) -> None:
    site = Site([pool(devices, cores, f"{gib} GiB"), pool(0, 2, "4 GiB", "other")])
    for command in commands:
        site.obey(*command)
        never_oversold(site.pools, site.leases)


def test_c26_the_third_of_two_is_told_the_figures_and_a_way_on() -> None:
    kind = gpu(1, capacity=2)
    held = [lease(kind, "l1", ["d0"]), lease(kind, "l2", ["d1"])]
    with pytest.raises(GearshiftError) as caught:
        grant(Ask(machine=kind), [pool()], held, others=[machine(), gpu(4)])
    error = caught.value
    assert error.code == "sold_out"
    for words in ("gpu-1", "0 of 2 free", "position 1", "cpu-small"):
        assert words in error.message
    assert error.facts["alternatives"] == ["cpu-small"]
    assert "0 / 2" in error.message_zh
    granted = grant(Ask(machine=kind), [pool()], held[:1])
    assert granted[0].device_ids == ("d1",)


@pytest.mark.parametrize("kind", [gpu(1, capacity=0), machine(pool="no-such-pool")])
def test_c03_a_machine_that_can_never_be_had_is_sold_out_of_none(kind: Machine) -> None:
    with pytest.raises(GearshiftError) as caught:
        grant(Ask(machine=kind), [pool()], [])
    assert (caught.value.code, caught.value.facts["free"], caught.value.facts["total"]) == ("sold_out", 0, 0)


@given(MACHINES, st.integers(0, 4))
def test_c03_capacity_that_is_given_back_is_all_there_again(kind: Machine, others: int) -> None:
    pools = [pool(), pool(0, 4, "8 GiB", "other")]
    held = [lease(machine(), f"o{number}") for number in range(others)]
    before = [free(each, held) for each in pools]
    granted = grant(Ask(machine=kind, count=1), pools, []) if not held else ()
    during = [*held, *(leased(one, f"n{number}") for number, one in enumerate(granted))]
    assert [free(each, [one for one in during if not one.id.startswith("n")]) for each in pools] == before


@given(MACHINES)
def test_a_switch_to_the_same_machine_is_never_sold_out_against_itself(kind: Machine) -> None:
    exactly = Pool(
        id=kind.pool,
        cores_milli=kind.cores_milli,
        memory_bytes=kind.memory_bytes,
        devices=pool(kind.amount.devices).devices,
    )
    (first,) = grant(Ask(machine=kind), [exactly], [])
    old = leased(first, "old")
    (again,) = grant(Ask(machine=kind, replacing=old), [exactly], [old])
    assert again.reserve.is_nothing
    assert again.device_ids == old.device_ids


def test_two_switches_at_once_at_full_capacity_are_not_sold_out_against_each_other() -> None:
    kind = machine(capacity=2)
    site = Site([pool()])
    site.start(kind, 2)
    for old in site.leases:
        site.switch(old, kind, keep_memory=False)
    assert len(site.switches) == 2


def test_a_switch_reserves_only_what_the_old_lease_lacks() -> None:
    old = lease(gpu(1), devices=["d2"])
    (granted,) = grant(Ask(machine=gpu(4), replacing=old), [pool()], [old])
    assert granted.reserve == Amount(devices=3)
    assert granted.reserve_device_ids == ("d0", "d1", "d3")
    assert granted.device_ids == ("d2", "d0", "d1", "d3")


def test_a_frozen_tree_keeps_its_memory_until_verify() -> None:
    old = lease(machine())
    tight = pool(memory="3 GiB")
    (saved,) = grant(Ask(machine=machine("cpu-large"), replacing=old), [tight], [old])
    assert saved.reserve.memory_bytes == 0
    with pytest.raises(GearshiftError) as caught:
        grant(Ask(machine=machine("cpu-large"), replacing=old, keep_memory=True), [tight], [old])
    assert caught.value.code == "sold_out"


AMOUNTS = st.builds(
    Amount,
    cores_milli=st.integers(0, 9000),
    memory_bytes=st.integers(0, 2**40),
    devices=st.integers(0, 8),
    share_milli=st.sampled_from([250, 500, 1000]),
)


@given(AMOUNTS, AMOUNTS, st.booleans())
def test_what_is_lacking_and_what_was_held_are_enough(
    held: Amount, wanted: Amount, keep_memory: bool
) -> None:
    old = lease(machine()).model_copy(update={"amount": held})
    lacking = lacks(old, wanted, keep_memory=keep_memory)
    assert held.cores_milli + lacking.cores_milli >= wanted.cores_milli
    assert held.memory_bytes + lacking.memory_bytes >= wanted.memory_bytes
    assert held.devices + lacking.devices >= wanted.devices
    assert lacking.cores_milli <= wanted.cores_milli
    assert lacking.devices <= wanted.devices


@given(AMOUNTS, AMOUNTS)
def test_nothing_passes_over_between_pools(held: Amount, wanted: Amount) -> None:
    old = lease(machine()).model_copy(update={"amount": held})
    assert lacks(old, wanted, "other") == wanted
    assert lacks(None, wanted) == wanted


def test_halves_share_a_device_and_leave_whole_ones_whole() -> None:
    half = gpu_half()
    pools = [pool(devices=2)]
    held: list[Lease] = []
    for number, device in enumerate(["d0", "d0", "d1", "d1"]):
        (granted,) = grant(Ask(machine=half), pools, held)
        assert granted.device_ids == (device,)
        held.append(leased(granted, f"h{number}"))
    assert availability(half, pools, held).free == 0
    assert availability(gpu(1), pools, held[:2]).free == 1


def test_a_switch_from_half_a_device_never_gets_the_same_device_twice() -> None:
    old = lease(gpu_half(), devices=["d0"])
    (granted,) = grant(Ask(machine=gpu(2, 500, "two-halves"), replacing=old), [pool(devices=2)], [old])
    assert granted.device_ids == ("d0", "d1")


def test_a_job_gets_all_its_nodes_or_none() -> None:
    held = [lease(gpu(1), devices=["d0"])]
    with pytest.raises(GearshiftError) as caught:
        grant(Ask(machine=gpu(2), count=2), [pool()], held)
    assert (caught.value.facts["asked"], caught.value.facts["free"], caught.value.facts["total"]) == (2, 1, 2)
    both = grant(Ask(machine=gpu(2), count=2), [pool()], [])
    assert [one.device_ids for one in both] == [("d0", "d1"), ("d2", "d3")]


def test_c25_a_machine_without_a_chip_takes_no_device() -> None:
    (granted,) = grant(Ask(machine=machine()), [pool(devices=0)], [])
    assert granted.device_ids == ()
    assert granted.amount.devices == 0


def test_a_lease_that_has_expired_still_counts_until_it_is_taken_back() -> None:
    held = lease(gpu(4), devices=["d0", "d1", "d2", "d3"]).model_copy(update={"expires_at": NOW})
    assert availability(gpu(1), [pool()], [held]).free == 0
