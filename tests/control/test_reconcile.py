"""What control makes of a world that moved without it: servers that ended, strangers, time that passed, the hub's doors."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from gearshift.model.units import to_iso
from gearshift_hub.control.hub import HubDownError
from gearshift_hub.control.reconcile import servers
from gearshift_hub.control.services import leases, ledger
from gearshift_testing.controls import Control, Person
from gearshift_testing.fakes import hub_away, refuse, until


async def test_a_server_that_is_gone_is_charged_up_to_when_it_was_last_seen(
    control: Control, alice: Person
) -> None:
    await alice.start(machine="gpu-1")
    await control.clock.advance(minutes=10)
    await control.look()
    seen = control.clock.now()
    control.hub.die("alice", "work")
    await control.clock.advance(minutes=50)
    await control.look()
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("stopped", "gone")
    assert _closed(control) == [seen]
    assert _leases(control) == 0


async def test_a_server_that_crashed_while_control_was_away_is_found_gone(
    control: Control, alice: Person
) -> None:
    await alice.start()
    await control.look()
    seen = control.clock.now()
    control.hub.die("alice", "work", exit_code=137)
    await control.clock.advance(hours=2)
    after = await control.again()
    await after.look()
    workspace = await after.person("alice").workspace()
    assert (workspace["state"], workspace["reason"]) == ("failed", "exit 137")
    assert _closed(after) == [seen]


async def test_a_server_that_ran_on_while_control_was_away_is_charged_for_all_of_it(
    control: Control, alice: Person
) -> None:
    await alice.start()
    await control.clock.advance(hours=3)
    after = await control.again()
    await after.look()
    await after.person("alice").stop()
    with after.db.transaction() as session:
        assert ledger.verify(session).ok
        spent = 1000 * 10**9 - ledger.balance(session, "alice", after.clock.now())
    assert spent == 300_000_000


async def test_the_hubs_silence_changes_nothing(control: Control, alice: Person) -> None:
    await alice.start()
    control.hub.faults.at("servers", hub_away, times=3)
    for _ in range(3):
        with pytest.raises(HubDownError):
            await control.look()
        await control.clock.advance(60)
    assert (await alice.workspace())["state"] == "ready"


async def test_a_server_that_runs_though_it_is_stopped_here_is_stopped(
    control: Control, alice: Person
) -> None:
    await alice.start()
    tree = control.hub.running[0]
    await alice.stop()
    tree.alive = True
    control.hub.server("alice", "work").current = tree
    await control.look()
    await control.settled()
    assert control.hub.running == []
    assert (await alice.workspace())["reason"] == "unknown"
    assert len(_closed(control)) == 1


async def test_a_stranger_is_ended_and_told(control: Control, alice: Person) -> None:
    await alice.start()
    tree = control.hub.running[0]
    control.hub.server("alice", "stranger").current = tree
    control.hub.server("alice", "work").current = None
    await control.look()
    await control.settled()
    assert control.hub.running == []
    with control.db.transaction() as session:
        ledger_ok = ledger.verify(session).ok
    assert ledger_ok


async def test_an_idle_workspace_stops_and_its_clock_begins_at_ready(control: Control, alice: Person) -> None:
    idle = control.deployment.idle.model_copy(update={"after_hours": 8.0, "warn_before": 600.0})
    control.ctx.deployment = control.deployment.model_copy(update={"idle": idle})
    control.servers.doing["executed_at"] = to_iso(control.clock.now() - timedelta(days=3))
    await alice.start()
    await control.look()
    await control.clock.advance(hours=7)
    await control.rules()
    assert (await alice.workspace())["state"] == "ready"
    control.servers.doing["executed_at"] = to_iso(control.clock.now())
    await control.look()
    await control.rules()
    await control.clock.advance(hours=7)
    await control.rules()
    assert (await alice.workspace())["state"] == "ready"
    await control.clock.advance(minutes=55)
    await control.rules()
    await control.clock.advance(minutes=10)
    await control.rules()
    await control.settled()
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("stopped", "idle")


async def test_at_the_end_of_a_balance_the_machine_stops(control: Control, alice: Person) -> None:
    await alice.start(machine="sim-4")
    await control.clock.advance(hours=249)
    await control.rules()
    assert (await alice.workspace())["state"] == "ready"
    await control.clock.advance(hours=1)
    await control.rules()
    await control.settled()
    assert (await alice.workspace())["reason"] == "balance"
    answer = await alice.post(
        "/plans", {"kind": "start", "name": "work", "spec": {"image": "pytorch", "machine": "cpu-small"}}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (402, "balance_low")


async def test_a_crash_that_the_hub_reports_ends_the_charge_at_once(control: Control, alice: Person) -> None:
    await alice.start()
    await control.clock.advance(minutes=7)
    control.hub.die("alice", "work", exit_code=-9)
    async with control.inside() as client:
        told = {"user": "alice", "workspace": "work", "state": "exited", "exit_code": -9}
        assert (await client.post("/internal/reports", json=told)).status_code == 200
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("failed", "exit -9")
    assert _closed(control) == [control.clock.now()]


async def test_a_report_about_what_an_operation_is_doing_is_left_to_it(
    control: Control, alice: Person
) -> None:
    await alice.start()
    slow = asyncio.Event()
    control.servers.faults.at("restore", until(slow))
    operation = await alice.begin("switch", workspace="alice/work", machine="sim-1")
    async with control.inside() as client:
        told = {"user": "alice", "workspace": "work", "state": "stopped", "exit_code": 0}
        await client.post("/internal/reports", json=told)
    slow.set()
    assert (await control.ended(operation["id"])).state == "done"
    assert (await alice.workspace())["state"] == "ready"


async def test_a_start_through_the_hubs_own_door_passes_the_same_admission(
    control: Control, alice: Person
) -> None:
    async with control.inside() as client:
        asked = {"user": "alice", "workspace": "work", "user_options": {"machine": "gpu-none"}}
        refused = await client.post("/internal/launches", json=asked)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "sold_out")
        assert (await alice.get("/workspaces")).json() == []
        asked["user_options"] = {"machine": "gpu-1", "image": "pytorch"}
        plan = (await client.post("/internal/launches", json=asked)).json()
    assert plan["labels"]["machine"] == "gpu-1"
    assert _leases(control) == 1
    await control.hub.start("alice", "work", plan["operation"])
    assert (await control.ended(plan["operation"])).state == "done"
    assert (await alice.workspace())["state"] == "ready"


async def test_a_start_of_the_hubs_that_comes_to_nothing_costs_nothing(
    control: Control, alice: Person
) -> None:
    async with control.inside() as client:
        asked = {"user": "alice", "workspace": "work", "user_options": {}}
        plan = (await client.post("/internal/launches", json=asked)).json()
    operation = await control.ended(plan["operation"])
    assert operation.state == "failed"
    assert _leases(control) == 0
    assert _closed(control) == []


async def test_the_hubs_default_server_and_strangers_are_refused(control: Control, alice: Person) -> None:
    async with control.inside() as client:
        for user, name, code in (("alice", "", "bad_name"), ("nobody", "work", "unknown_user")):
            asked = {"user": user, "workspace": name, "user_options": {}}
            answer = await client.post("/internal/launches", json=asked)
            assert answer.json()["error"]["code"] == code


async def test_a_stop_through_the_hubs_own_door_is_recorded_after_saving(
    control: Control, alice: Person
) -> None:
    await alice.start()
    async with control.inside() as client:
        answer = await client.post("/internal/stops", json={"user": "alice", "workspace": "work"})
    operation = answer.json()["operation"]
    assert operation in control.servers.saved
    assert (await control.ended(operation)).state == "done"
    assert (await alice.workspace())["state"] == "stopped"


async def test_shutdown_saves_and_stops_all_and_refuses_new_starts(
    control: Control, alice: Person, bob: Person
) -> None:
    await alice.start()
    await bob.start()
    async with control.inside() as client:
        answer = await client.post("/internal/shutdown")
    assert answer.json() == {"stopped": 2, "unconfirmed": []}
    assert control.hub.running == []
    assert len(control.servers.saved) == 2
    plan = await alice.plan("start", name="work", spec={"image": "pytorch", "machine": "cpu-small"})
    assert (await alice.confirm(plan)).json()["error"]["code"] == "control_unavailable"
    with control.db.transaction() as session:
        assert ledger.verify(session).ok


async def test_a_frozen_tree_that_was_left_over_is_released(control: Control, alice: Person) -> None:
    await alice.start()
    control.hub.faults.at("release", refuse("step_failed", step="release", cause="a test"))
    assert (await alice.switch("sim-1"))["state"] == "done"
    assert len(control.hub.running) == 2
    assert _leases(control) == 1
    await control.look()
    assert len(control.hub.running) == 1
    assert (await alice.workspace())["state"] == "ready"


async def test_a_hub_that_never_answers_ends_a_look_and_not_the_looking(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.faults.at("release", refuse("step_failed", step="release", cause="a test"))
    assert (await alice.switch("sim-1"))["state"] == "done"
    asked = asyncio.Event()

    async def never() -> None:
        asked.set()
        await asyncio.Event().wait()

    control.hub.faults.at("release", never)
    look = asyncio.ensure_future(control.look())
    await asked.wait()
    await control.clock.advance(seconds=servers.ANSWER_S)
    with pytest.raises(HubDownError):
        await look
    await control.look()
    assert len(control.hub.running) == 1


def _closed(control: Control) -> list[object]:
    with control.db.transaction() as session:
        held = ledger.intervals_of(session, ledger.subject_of("alice/work"))
    return [interval.closed_at for interval in held if interval.closed_at is not None]


def _leases(control: Control) -> int:
    with control.db.transaction() as session:
        return len(leases.all_leases(session))


async def test_a_hold_that_its_switch_could_not_give_up_does_not_lock_a_workspace(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.faults.at("spawn", refuse("start_failed", exit=1))
    control.hub.faults.at("release", hub_away, times=1000)
    operation = await alice.switch("sim-1")
    assert operation["state"] == "failed"
    assert (await alice.workspace())["state"] == "ready"
    control.hub.faults.clear()
    assert control.hub.server("alice", "work").held_by == operation["id"]
    assert (await alice.stop())["state"] == "done"
    assert control.hub.running == []
    assert (await alice.start())["state"] == "done"


async def test_a_launch_that_was_cancelled_meanwhile_is_refused_at_once(
    control: Control, alice: Person
) -> None:
    never = asyncio.Event()
    control.hub.faults.at("start", until(never))
    start = await alice.begin("start", name="work", spec={"image": "pytorch", "machine": "cpu-small"})
    await control.hub.faults.reached("start")
    stuck = asyncio.Event()
    control.hub.faults.at("stop", until(stuck))
    await alice.post(f"/operations/{start['id']}/cancel")
    async with control.inside() as client:
        asked = {"user": "alice", "workspace": "work", "user_options": {}, "operation": start["id"]}
        answer = await client.post("/internal/launches", json=asked)
    assert answer.json()["error"]["code"] == "cancelled"
    stuck.set()
    assert (await control.ended(start["id"])).state == "cancelled"


async def test_a_start_through_the_hubs_door_of_what_had_crashed_unseen_closes_the_old_interval(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.die("alice", "work")
    await control.clock.advance(minutes=3)
    async with control.inside() as client:
        asked = {"user": "alice", "workspace": "work", "user_options": {}}
        plan = (await client.post("/internal/launches", json=asked)).json()
    await control.hub.start("alice", "work", plan["operation"])
    assert (await control.ended(plan["operation"])).state == "done"
    assert len(_closed(control)) == 1
    assert _leases(control) == 1
