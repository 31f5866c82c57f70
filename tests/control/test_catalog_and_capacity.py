"""What is free, who gets it, and that nothing is sold twice (case C26, case C06)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from gearshift.model.launch import LaunchPlan
from gearshift.model.lease import Grant, Purpose
from gearshift_hub.control.services import leases
from gearshift_testing.controls import Control, Person
from gearshift_testing.fakes import refuse

OF_THE_PERSON = {"GEARSHIFT_WORKSPACE", "GEARSHIFT_STATE_DIR", "GEARSHIFT_STATE_KEY", "GEARSHIFT_DOOR_KEY"}


async def test_c26_sold_out_names_what_is_scarce_place_and_alternatives(
    control: Control, alice: Person, bob: Person
) -> None:
    carol = await control.add_person("carol")
    await alice.start(machine="gpu-1")
    await bob.start(machine="gpu-1")
    answer = await carol.post(
        "/plans", {"kind": "start", "name": "work", "spec": {"image": "pytorch", "machine": "gpu-1"}}
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "sold_out")
    for words in ("gpu-1", "0 of 2 free", "position 1"):
        assert words in error["message"]
    assert error["allowed"]
    catalog = (await carol.get("/catalog")).json()
    gpu = next(one for one in catalog["machines"] if one["id"] == "gpu-1")
    assert (gpu["free"], gpu["total"], gpu["simulated"]) == (0, 2, True)
    await alice.stop()
    assert (await carol.start(machine="gpu-1"))["state"] == "done"


async def test_c26_a_process_that_exits_is_never_called_sold_out(control: Control, alice: Person) -> None:
    control.hub.faults.at("spawn", refuse("start_failed", exit=3))
    operation = await alice.start(machine="gpu-1")
    assert operation["error"]["code"] == "start_failed"
    assert "exit 3" in operation["error"]["message"]


async def test_many_at_once_never_get_more_than_there_is(control: Control) -> None:
    people = [await control.add_person(f"p{number}") for number in range(6)]
    answers = await asyncio.gather(*(_try(person) for person in people))
    await control.settled()
    assert sorted(answers) == ["ok", "ok", "sold_out", "sold_out", "sold_out", "sold_out"]
    held = _held(control)
    assert len(held) == len(set(held)) == 2
    assert len(control.hub.running) == 2


async def test_c06_nothing_of_a_failed_start_is_left_in_the_next(
    control: Control, alice: Person, bob: Person
) -> None:
    control.hub.faults.at("spawn", refuse("start_failed", exit=1))
    await alice.start(machine="gpu-1")
    await alice.start(machine="cpu-small")
    await bob.start(machine="cpu-small")
    one, two = (tree.plan for tree in control.hub.running)
    assert _without_person(one) == _without_person(two)
    assert one.env["CUDA_VISIBLE_DEVICES"] == one.env["GEARSHIFT_DEVICES"] == ""
    assert (await alice.workspace())["price_per_hour_nano"] == 100_000_000


async def test_the_catalog_says_what_a_switch_would_change(
    control: Control, alice: Person, bob: Person
) -> None:
    await bob.start(machine="sim-1")
    await alice.start()
    machines = {
        one["id"]: one for one in (await alice.get("/catalog", workspace="alice/work")).json()["machines"]
    }
    assert machines["cpu-small"]["current"]
    assert machines["sim-1"]["change_per_hour_nano"] == 900_000_000
    assert (machines["sim-1"]["fits"], machines["sim-4"]["fits"]) == (True, False)
    assert machines["sim-1"]["free"] == 3
    bare = (await alice.get("/catalog")).json()["machines"][0]
    assert (bare["current"], bare["fits"]) == (None, None)


async def test_a_reservation_that_nobody_needs_any_more_expires(control: Control, alice: Person) -> None:
    await alice.start()
    await alice.switch("sim-1")
    with control.db.transaction() as session:
        (lease,) = leases.all_leases(session)
        assert lease.expires_at is None
        left_over = Grant(
            pool="box",
            machine="gpu-1",
            reserve=lease.amount,
            reserve_device_ids=("d3",),
            amount=lease.amount,
            device_ids=("d3",),
        )
        soon = control.clock.now() + timedelta(minutes=5)
        leases.take(
            control.ctx,
            session,
            left_over,
            owner="alice",
            purpose=Purpose.SWITCH,
            operation="op-0",
            expires_at=soon,
        )
    await control.look()
    assert _held(control) == ["d0", "d3"]
    await control.clock.advance(minutes=5)
    await control.look()
    assert _held(control) == ["d0"]
    assert (await alice.workspace())["state"] == "ready"


def _held(control: Control) -> list[str]:
    with control.db.transaction() as session:
        return sorted(device for lease in leases.all_leases(session) for device in lease.device_ids)


async def _try(person: Person) -> str:
    body = {"kind": "start", "name": "work", "spec": {"image": "pytorch", "machine": "gpu-1"}}
    planned = await person.post("/plans", body)
    answer = await person.confirm(planned.json()) if planned.status_code == 201 else planned
    return "ok" if answer.status_code == 202 else str(answer.json()["error"]["code"])


def _without_person(plan: LaunchPlan) -> dict[str, object]:
    """The effective launch without what names the person and this one launch."""
    said = plan.model_dump(mode="json")
    for key in ("operation", "workspace", "person", "runtime_dir", "state_dir", "tree"):
        said.pop(key)
    said["labels"].pop("workspace")
    said["env"] = {key: value for key, value in said["env"].items() if key not in OF_THE_PERSON}
    return said
