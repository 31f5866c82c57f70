"""Cases C01 and C03 on control itself: start during stop, and stop in every state."""

from __future__ import annotations

import asyncio

import pytest
from gearshift.model.ledger import Interval
from gearshift_hub.control.services import ledger
from gearshift_testing.controls import Control, Person
from gearshift_testing.fakes import refuse, until

SPEC = {"image": "pytorch", "machine": "cpu-small"}


async def test_c01_a_start_during_a_stop_is_queued_and_repeated_starts_are_one(
    control: Control, alice: Person
) -> None:
    await alice.start()
    slow = asyncio.Event()
    control.hub.faults.at("stop", until(slow))
    stop = await alice.begin("stop", workspace="alice/work")
    await control.hub.faults.reached("stop")
    answers = await asyncio.gather(*(alice.begin("start", name="work", spec=SPEC) for _ in range(3)))
    assert len({answer["id"] for answer in answers}) == 1
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("stopping", "stopping_then_starting")
    await control.clock.advance(8)
    slow.set()
    assert (await control.ended(answers[0]["id"])).state == "done"
    assert (await control.ended(stop["id"])).state == "done"
    assert (await alice.workspace())["state"] == "ready"
    assert len(control.hub.running) == 1
    first, second = await _intervals(control, "alice/work")
    assert first.closed_at is not None
    assert first.closed_at <= second.opened_at
    assert second.closed_at is None


async def test_c01_a_queued_start_for_another_machine_is_refused(control: Control, alice: Person) -> None:
    await alice.start()
    slow = asyncio.Event()
    control.hub.faults.at("stop", until(slow))
    await alice.begin("stop", workspace="alice/work")
    await alice.begin("start", name="work", spec=SPEC)
    plan = await alice.plan("start", name="work", spec={**SPEC, "machine": "sim-1"})
    answer = await alice.confirm(plan)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "busy")
    slow.set()


async def test_c03_a_stop_cancels_a_start_that_hangs(control: Control, alice: Person) -> None:
    never = asyncio.Event()
    control.hub.faults.at("spawn", until(never))
    start = await alice.begin("start", name="work", spec={**SPEC, "machine": "gpu-1"})
    await control.hub.faults.reached("spawn")
    stop = await alice.begin("stop", workspace="alice/work")
    assert (await control.ended(stop["id"])).state == "done"
    assert (await control.ended(start["id"])).state == "cancelled"
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("stopped", "asked")
    assert control.hub.running == []
    assert await _free(alice, "gpu-1") == 2
    assert await _intervals(control, "alice/work") == []
    await control.clock.advance(90)
    await control.look()
    assert control.hub.running == []


async def test_c03_a_machine_that_is_not_there_is_refused_before_anything_exists(
    control: Control, alice: Person
) -> None:
    answer = await alice.post(
        "/plans", {"kind": "start", "name": "work", "spec": {**SPEC, "machine": "gpu-none"}}
    )
    assert answer.json()["error"]["code"] == "sold_out"
    assert (await alice.get("/workspaces")).json() == []


@pytest.mark.parametrize("moment", ["start", "spawn", "started"])
async def test_a_cancelled_start_leaves_nothing(control: Control, alice: Person, moment: str) -> None:
    never = asyncio.Event()
    control.hub.faults.at(moment, until(never))
    start = await alice.begin("start", name="work", spec=SPEC)
    await control.hub.faults.reached(moment)
    answer = await alice.post(f"/operations/{start['id']}/cancel")
    assert answer.status_code == 202
    assert (await control.ended(start["id"])).state == "cancelled"
    assert (await alice.workspace())["state"] == "stopped"
    assert control.hub.running == []
    assert len((await alice.get("/ledger")).json()["entries"]) == 1


async def test_a_second_stop_is_the_same_stop_and_ends_a_queued_start(
    control: Control, alice: Person
) -> None:
    await alice.start()
    slow = asyncio.Event()
    control.hub.faults.at("stop", until(slow))
    first = await alice.begin("stop", workspace="alice/work")
    await control.hub.faults.reached("stop")
    queued = await alice.begin("start", name="work", spec=SPEC)
    second = await alice.begin("stop", workspace="alice/work")
    assert first["id"] == second["id"]
    slow.set()
    assert (await control.ended(queued["id"])).state == "cancelled"
    assert (await control.ended(first["id"])).state == "done"
    assert (await alice.workspace())["state"] == "stopped"


async def test_a_stop_of_what_is_stopped_is_success(control: Control, alice: Person) -> None:
    await alice.start()
    await alice.stop()
    assert (await alice.stop())["state"] == "done"


async def test_a_stop_that_is_not_confirmed_is_shown_not_charged_and_tried_again(
    control: Control, alice: Person
) -> None:
    await alice.start(machine="gpu-1")
    never = asyncio.Event()
    control.hub.faults.at("stop", until(never))
    operation = await alice.stop()
    assert operation["state"] == "failed"
    assert operation["error"]["code"] == "stop_failed"
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["interval_open"]) == ("stopping_unconfirmed", False)
    assert await _free(alice, "gpu-1") == 1
    refused = await control.clock.advance(60)
    assert refused is None
    await control.look()
    assert (await alice.workspace())["state"] == "stopped"
    assert await _free(alice, "gpu-1") == 2
    assert control.hub.running == []


async def test_a_stop_during_a_switch_goes_back_first_and_then_stops(control: Control, alice: Person) -> None:
    await alice.start()
    never = asyncio.Event()
    control.hub.faults.at("spawn", until(never))
    switch = await alice.begin("switch", workspace="alice/work", machine="sim-1")
    await control.hub.faults.reached("spawn")
    stop = await alice.begin("stop", workspace="alice/work")
    assert (await control.ended(stop["id"])).state == "done"
    assert (await control.ended(switch["id"])).state == "cancelled"
    assert (await alice.workspace())["state"] == "stopped"
    assert control.hub.running == []
    assert await _free(alice, "sim-1") == 4


async def test_a_start_that_was_refused_is_not_tried_again(control: Control, alice: Person) -> None:
    control.hub.faults.at("spawn", refuse("start_failed", exit=1))
    await alice.start()
    again = await alice.start()
    assert again["state"] == "done"


async def _intervals(control: Control, workspace: str) -> list[Interval]:
    with control.db.transaction() as session:
        return ledger.intervals_of(session, ledger.subject_of(workspace))


async def _free(person: Person, machine: str) -> int:
    catalog = (await person.get("/catalog")).json()
    return next(int(one["free"]) for one in catalog["machines"] if one["id"] == machine)
