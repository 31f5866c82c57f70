"""The queue: priority, then first come, all or nothing, and no large job is overtaken for ever."""

from __future__ import annotations

from datetime import timedelta

from gearshift.model.lease import Lease, device_shares
from gearshift.model.machine import Machine
from gearshift.model.queue import Waiting, in_order, next_round, place
from gearshift_testing.catalogue import NOW, gpu, lease, machine, pool
from hypothesis import given
from hypothesis import strategies as st


def waiting(name: str, kind: Machine | None = None, count: int = 1, after_s: int = 0, **more: int) -> Waiting:
    since = NOW + timedelta(seconds=after_s)
    return Waiting(id=name, machine=kind or gpu(2), count=count, since=since, **more)


LINES = st.lists(
    st.builds(
        Waiting,
        id=st.uuids().map(str),
        machine=st.sampled_from([machine(), gpu(1), gpu(2), gpu(4)]),
        count=st.integers(1, 3),
        priority=st.integers(0, 2),
        since=st.integers(0, 60).map(lambda s: NOW + timedelta(seconds=s)),
        overtaken=st.integers(0, 4),
    ),
    max_size=8,
)


def test_c28_two_jobs_of_four_devices_get_them_one_after_the_other() -> None:
    line = [waiting("J2", count=2, after_s=1), waiting("J1", count=2)]
    first = next_round(line, [pool()], [], 3)
    assert [one.id for one in first.started] == ["J1"]
    held = [lease(gpu(2), f"l{n}", g.device_ids) for n, g in enumerate(first.started[0].grants)]
    held = [one.model_copy(update={"job": "J1"}) for one in held]
    stands = place("J2", first.waiting, [pool()], held)
    assert (stands.position, stands.needs, stands.free, stands.after) == (1, 4, 0, "J1")
    assert next_round(first.waiting, [pool()], held, 3).started == ()
    assert [one.id for one in next_round(first.waiting, [pool()], [], 3).started] == ["J2"]


def test_a_higher_priority_goes_first_then_who_came_first() -> None:
    line = [waiting("late", after_s=9), waiting("early"), waiting("urgent", after_s=20, priority=1)]
    assert [one.id for one in in_order(line)] == ["urgent", "early", "late"]
    assert place("late", line, [pool()], []).after == "early"


def test_a_large_job_is_overtaken_so_often_and_not_once_more() -> None:
    held = [lease(gpu(1), "l1", ["d0"])]
    large = waiting("large", gpu(4))
    for overtaken in range(3):
        small = waiting(f"small-{overtaken}", gpu(1), after_s=1 + overtaken)
        round_ = next_round([large, small], [pool()], held, 3)
        assert [one.id for one in round_.started] == [small.id]
        (large,) = round_.waiting
        assert large.overtaken == overtaken + 1
    blocked = next_round([large, waiting("small", gpu(1), after_s=9)], [pool()], held, 3)
    assert blocked.started == ()
    assert [one.id for one in next_round(blocked.waiting, [pool()], [], 3).started] == ["large"]


def test_who_waits_for_what_a_workspace_holds_holds_nobody_up() -> None:
    desk = lease(gpu(1), "l1", ["d0"]).model_copy(update={"workspace": "ann/desk"})
    large = waiting("large", gpu(4), overtaken=3)
    round_ = next_round([large, waiting("small", gpu(1), after_s=1)], [pool()], [desk], 3)
    assert [one.id for one in round_.started] == ["small"]
    assert [(one.id, one.overtaken) for one in round_.waiting] == [("large", 3)]


def test_a_place_on_the_waitlist_holds_no_job_up_and_is_served_in_its_turn() -> None:
    held = [lease(gpu(1), "l1", ["d0"])]
    desk = waiting("desk", gpu(4), overtaken=9).model_copy(update={"is_job": False})
    jobs = [waiting("job", gpu(2), after_s=1), waiting("next", gpu(4), after_s=2)]
    assert [one.id for one in next_round([desk, *jobs], [pool()], held, 3).started] == ["job"]
    assert [one.id for one in next_round([desk, *jobs], [pool()], [], 3).started] == ["desk"]


def test_another_pool_is_not_held_up() -> None:
    large = waiting("large", gpu(4), overtaken=9)
    other = waiting("other", machine("cpu", pool="other"), after_s=1)
    pools = [pool(), pool(0, name="other")]
    assert [
        one.id for one in next_round([large, other], pools, [lease(gpu(1), devices=["d0"])], 3).started
    ] == ["other"]


def test_a_machine_without_a_chip_is_counted_in_machines() -> None:
    stands = place("j", [waiting("j", machine(), count=3)], [pool(cores=2)], [])
    assert (stands.needs, stands.free, stands.after) == (3, 2, None)


@given(LINES, st.integers(0, 3))
def test_nobody_is_lost_and_nothing_is_sold_twice(line: list[Waiting], limit: int) -> None:
    there = pool()
    round_ = next_round(line, [there], [], limit)
    names = [one.id for one in round_.started] + [one.id for one in round_.waiting]
    assert sorted(names) == sorted(one.id for one in line)
    held = [
        Lease(
            id=f"{one.id}/{n}",
            pool=g.pool,
            machine=g.machine,
            amount=g.amount,
            device_ids=g.device_ids,
            owner="A",
        )
        for one in round_.started
        for n, g in enumerate(one.grants)
    ]
    assert all(left >= 0 for left in device_shares(there, held).values())
    assert sum(one.amount.cores_milli for one in held) <= there.cores_milli
    counts = {one.id: one.count for one in line}
    assert all(len(one.grants) == counts[one.id] for one in round_.started)


@given(LINES, st.integers(0, 3))
def test_the_first_in_line_starts_when_there_is_room_for_it(line: list[Waiting], limit: int) -> None:
    if line:
        first = in_order(line, limit)[0]
        alone = next_round([first], [pool()], [], limit).started
        started = next_round(line, [pool()], [], limit).started
        assert (first.id in [one.id for one in started]) == bool(alone)


@given(LINES)
def test_every_place_is_different_within_a_pool(line: list[Waiting]) -> None:
    positions = [place(one.id, line, [pool()], []).position for one in line]
    assert sorted(positions) == list(range(1, len(line) + 1))
