"""Starting and stopping workspaces, as seen through the public door."""

from __future__ import annotations

import asyncio

from gearshift_testing.controls import Control, Person
from gearshift_testing.fakes import hub_away, refuse, until


async def test_a_start_becomes_ready_and_is_charged_from_then(control: Control, alice: Person) -> None:
    operation = await alice.start()
    assert operation["state"] == "done"
    workspace = await alice.workspace()
    assert workspace["state"] == "ready"
    assert workspace["interval_open"]
    assert workspace["price_per_hour_nano"] == 100_000_000
    await control.clock.advance(hours=1)
    me = (await alice.get("/me")).json()
    assert me["balance_nano"] == 1000 * 10**9 - 100_000_000
    assert me["today_nano"] == 100_000_000


async def test_a_stop_saves_closes_and_frees(control: Control, alice: Person) -> None:
    started = await alice.start()
    await control.clock.advance(minutes=30)
    operation = await alice.stop()
    assert operation["state"] == "done"
    assert [step["state"] for step in operation["steps"]] == ["done"] * 4
    assert operation["id"] in control.servers.saved
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"], workspace["interval_open"]) == (
        "stopped",
        "asked",
        False,
    )
    assert control.hub.running == []
    lines = (await alice.get("/ledger")).json()["entries"]
    assert [line["kind"] for line in lines] == ["credit", "usage", "usage"]
    assert sum(line["amount_nano"] for line in lines[1:]) == -50_000_000
    assert started["id"] != operation["id"]


async def test_a_start_that_fails_costs_nothing_and_leaves_nothing(control: Control, alice: Person) -> None:
    control.hub.faults.at("spawn", refuse("start_failed", exit=3))
    operation = await alice.start(machine="gpu-1")
    assert operation["state"] == "failed"
    assert operation["error"]["code"] == "start_failed"
    assert operation["error"]["facts"]["exit"] == 3
    assert "gpu-1" in operation["error"]["message"]
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("failed", "start_failed")
    assert control.hub.running == []
    catalog = (await alice.get("/catalog")).json()
    assert next(m for m in catalog["machines"] if m["id"] == "gpu-1")["free"] == 2
    assert len((await alice.get("/ledger")).json()["entries"]) == 1


async def test_a_hub_that_is_away_for_a_moment_does_not_fail_a_start(control: Control, alice: Person) -> None:
    control.hub.faults.at("start", hub_away, times=3)
    operation = await alice.begin("start", name="work", spec={"image": "pytorch", "machine": "cpu-small"})
    assert (await control.ended(operation["id"])).state == "done"


async def test_a_start_past_its_deadline_goes_back(control: Control, alice: Person) -> None:
    never = asyncio.Event()
    control.hub.faults.at("spawn", until(never))
    operation = await alice.begin("start", name="work", spec={"image": "pytorch", "machine": "cpu-small"})
    ended = await control.ended(operation["id"], step_s=10)
    assert ended.state == "failed"
    assert ended.error is not None
    assert ended.error["code"] == "start_timeout"
    assert (await alice.workspace())["state"] == "failed"
