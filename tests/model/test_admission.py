"""Admission is one pure function: what is refused, with which code, and that nothing is remembered (case C06)."""

from __future__ import annotations

from typing import Any

import pytest
from gearshift.model.admission import Admission, Limits, Request, World, admit, check
from gearshift.model.errors import GearshiftError
from gearshift.model.image import Runtime
from gearshift.model.lease import Purpose
from gearshift.model.machine import Amount
from gearshift.model.units import HOUR_US, parse_money
from gearshift.model.workspace import DiskMount, Mode
from gearshift_testing.catalogue import gpu, image, lease, leased, machine, pool, request, world
from hypothesis import given
from hypothesis import strategies as st

REQUESTS = st.builds(
    request,
    st.sampled_from(["cpu-small", "gpu-1", "gpu-4", "gpu-half", "gpu-9", "../x"]),
    image=st.sampled_from(["pytorch", "other", "nope"]),
    disks=st.lists(
        st.builds(DiskMount, disk=st.sampled_from(["d-1", "d-2"]), mode=st.sampled_from(Mode)), max_size=2
    ).map(tuple),
    datasets=st.sampled_from([(), ("digits",), ("nope",)]),
    count=st.integers(-1, 9),
    procs=st.integers(-1, 9),
    purpose=st.sampled_from(Purpose),
    budget_nano=st.none() | st.integers(0, 10**10),
)


def refusal(asked: Request, there: World) -> GearshiftError:
    with pytest.raises(GearshiftError) as caught:
        admit(asked, there)
    return caught.value


def outcome(asked: Request, there: World) -> Admission | dict[str, Any]:
    try:
        return admit(asked, there)
    except GearshiftError as error:
        return error.body()


def test_what_is_right_is_let_in_at_its_price() -> None:
    got = admit(request("gpu-1"), world())
    assert got.price_per_hour_nano == 10**9
    assert got.amount == gpu(1).amount
    assert got.grants[0].device_ids == ("d0",)


def test_c06_a_start_after_a_failed_one_is_as_if_it_had_been_the_first() -> None:
    there = world(machines=(machine(), gpu(1, capacity=0)))
    assert refusal(request("gpu-1"), there).code == "sold_out"
    after = admit(request(user="A"), there)
    first = admit(request(user="B"), world(machines=(machine(), gpu(1, capacity=0))))
    assert after == first
    assert after.price_per_hour_nano == parse_money("0.10")
    assert after.grants[0].device_ids == ()
    assert after.amount.devices == 0


@given(st.lists(REQUESTS, max_size=8), REQUESTS)
def test_c06_nothing_of_earlier_requests_survives(earlier: list[Request], asked: Request) -> None:
    there = world(memberships={"d-1": Mode.RW, "d-2": Mode.RO})
    before = there.model_dump()
    for one in earlier:
        outcome(one, there)
    assert there.model_dump() == before
    assert outcome(asked, there) == outcome(asked, world(memberships={"d-1": Mode.RW, "d-2": Mode.RO}))


@given(REQUESTS)
def test_c06_the_person_makes_no_difference_to_what_is_granted(asked: Request) -> None:
    there = world(memberships={"d-1": Mode.RW})
    ours, theirs = (outcome(asked.model_copy(update={"user": user}), there) for user in ("A", "B"))
    assert ours == theirs


def test_c26_sold_out_names_machine_figures_position_and_a_way_on() -> None:
    kind = gpu(1, capacity=2)
    held = (lease(kind, "l1", ["d0"]), lease(kind, "l2", ["d1"]))
    there = world(machines=(machine(), kind, gpu(4)), leases=held)
    error = refusal(request("gpu-1"), there)
    assert error.code == "sold_out"
    for words in ("gpu-1", "0 of 2 free", "position 1", "cpu-small"):
        assert words in error.message
    assert error.facts == {
        "machine": "gpu-1",
        "asked": 1,
        "free": 0,
        "total": 2,
        "position": 1,
        "alternatives": ["cpu-small"],
    }
    assert refusal(request("gpu-1"), there.model_copy(update={"queue": ("j1", "j2")})).facts["position"] == 3
    assert admit(request("gpu-1"), there.model_copy(update={"leases": held[:1]})).grants[0].device_ids == (
        "d1",
    )


@pytest.mark.parametrize(
    ("asked", "code", "field", "value", "allowed"),
    [
        (request("gpu-9"), "unknown_machine", "machine", "gpu-9", "gpu-1"),
        (request("../x"), "unknown_machine", "machine", "../x", "cpu-small"),
        (request("gpu-1", plan="spot"), "unknown_plan", "plan", "spot", "on_demand"),
        (request(image="nope"), "unknown_image", "image", "nope", "pytorch"),
        (request(image="other"), "image_mismatch", "image", "other", "pytorch"),
        (request(disks=(DiskMount(disk="d-9"),)), "unknown_disk", "disks", "d-9", "d-1"),
        (request(disks=(DiskMount(disk="d-2"),)), "disk_not_yours", "disks", "d-2", "d-1"),
        (request(disks=(DiskMount(disk="d-1"),)), "disk_readonly", "disks", "d-1", "ro"),
        (request(datasets=("nope",)), "unknown_dataset", "datasets", "nope", "digits"),
        (request(purpose=Purpose.JOB, count=0), "bad_nodes", "nodes", 0, "1-4"),
        (request(purpose=Purpose.JOB, count=1000), "bad_nodes", "nodes", 1000, "1-4"),
        (request("gpu-4", purpose=Purpose.JOB, count=2), "bad_nodes", "nodes", 2, "1-1"),
        (request(purpose=Purpose.JOB, procs=1000), "bad_nodes", "procs", 1000, "1-4"),
        (request(count=2), "bad_nodes", "nodes", 2, "1-1"),
    ],
)
def test_bad_input_names_field_value_and_what_is_allowed(
    asked: Request, code: str, field: str, value: object, allowed: str
) -> None:
    there = world(
        images=(image(), image("other")), memberships={"d-1": Mode.RO}, known_disks=frozenset({"d-1", "d-2"})
    )
    error = refusal(asked, there)
    assert (error.code, error.field, error.value) == (code, field, value)
    assert allowed in [str(each) for each in error.allowed or ()]
    assert str(value) in error.message
    assert str(value) in error.message_zh


def test_a_member_who_may_only_read_can_attach_read_only() -> None:
    mount = DiskMount(disk="d-1", mode=Mode.RO)
    assert admit(request(disks=(mount,)), world(memberships={"d-1": Mode.RO}))


@pytest.mark.parametrize("have", [Mode.RO, Mode.RW])
def test_who_may_write_may_read(have: Mode) -> None:
    assert have.allows(Mode.RO)
    assert have.allows(Mode.RW) == (have is Mode.RW)


def test_limits_count_what_runs_but_not_the_workspace_itself() -> None:
    there = world(limits=Limits(workspaces_per_user=2), workspaces_of_user=("A/one", "A/two"))
    error = refusal(request(workspace="A/three"), there)
    assert (error.code, error.facts["used"], error.facts["limit"]) == ("limit_reached", 2, 2)
    assert admit(request(workspace="A/two"), there)
    assert admit(request(workspace="A/three", purpose=Purpose.SWITCH), there)


def test_jobs_have_a_limit_of_their_own() -> None:
    there = world(limits=Limits(jobs_per_user=1, workspaces_per_user=1), jobs_of_user=("j1",))
    assert refusal(request(purpose=Purpose.JOB), there).facts["what"] == "jobs"
    assert admit(request(), there)


@pytest.mark.parametrize("balance", [0, -1])
def test_nothing_starts_on_an_empty_account(balance: int) -> None:
    error = refusal(request("gpu-1"), world(balance_nano=balance))
    assert error.code == "balance_low"
    assert "¥1.00/h" in error.message
    assert admit(request("free"), world(machines=(machine("free", "0"),), balance_nano=balance))


def test_a_budget_is_compared_with_the_estimate_of_all_nodes() -> None:
    asked = request("gpu-1", purpose=Purpose.JOB, count=2, budget_nano=10**9, expected_us=HOUR_US // 2)
    assert admit(asked, world()).price_per_hour_nano == 2 * 10**9
    error = refusal(asked.model_copy(update={"expected_us": HOUR_US}), world())
    assert (error.code, error.facts["estimate_nano"]) == ("budget_over", 2 * 10**9)
    assert "¥2.00" in error.message


def test_bad_input_comes_before_money_and_money_before_capacity() -> None:
    poor = world(machines=(gpu(1, capacity=0),), balance_nano=0)
    assert refusal(request("gpu-1", image="nope"), poor).code == "unknown_image"
    assert refusal(request("gpu-1"), poor).code == "balance_low"


def test_a_job_that_must_wait_passes_the_check_but_not_the_admission() -> None:
    there = world(leases=(lease(gpu(4), devices=["d0", "d1", "d2", "d3"]),))
    asked = request("gpu-1", purpose=Purpose.JOB, count=2)
    assert check(asked, there).price_per_hour_nano == 2 * 10**9
    error = refusal(asked, there)
    assert (error.code, error.facts["asked"], error.facts["free"]) == ("sold_out", 2, 0)


def test_alternatives_run_the_same_image() -> None:
    cuda = machine("cuda-only", "1.00", images=("cuda",))
    there = world(
        machines=(gpu(1, capacity=0), cuda, machine()), images=(image(), image("cuda", Runtime.CUDA))
    )
    assert refusal(request("gpu-1"), there).facts["alternatives"] == ["cpu-small"]


def test_a_switch_reserves_what_the_old_lease_lacks() -> None:
    first = admit(request("gpu-1"), world())
    old = leased(first.grants[0], "l1")
    there = world(leases=(old,), pools=(pool(cores=1, memory="2 GiB"),))
    switch = admit(request("gpu-4", purpose=Purpose.SWITCH, replacing=old), there)
    assert switch.grants[0].reserve == Amount(devices=3)
    assert switch.grants[0].amount == gpu(4).amount


@given(REQUESTS)
def test_a_request_survives_the_wire(asked: Request) -> None:
    assert Request.model_validate(asked.model_dump(mode="json")) == asked
