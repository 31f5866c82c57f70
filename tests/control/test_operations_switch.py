"""Switching machines: price, leases, variables, and the way back from every step."""

from __future__ import annotations

import asyncio

import pytest
from gearshift.model.ledger import Interval
from gearshift_hub.backends.base import Able
from gearshift_hub.control.services import leases, ledger
from gearshift_testing.controls import ON_SQLITE, Control, Person
from gearshift_testing.fakes import refuse, server_away, until

CPU, SIM = 100_000_000, 1_000_000_000


async def test_a_switch_moves_variables_and_changes_the_price_at_one_instant(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.running[0].variables["x"] = 41
    await control.clock.advance(minutes=30)
    operation = await alice.switch("sim-1")
    assert operation["state"] == "done", operation["error"]
    assert operation["result"]["restored"] == {"variables": 1, "bytes": 8}
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["spec"]["machine"]) == ("ready", "sim-1")
    assert workspace["price_per_hour_nano"] == SIM
    (tree,) = control.hub.running
    assert tree.variables == {"x": 41}
    assert tree.plan.devices == ("d0",)
    assert tree.plan.env["GEARSHIFT_DEVICES"] == "d0"
    assert tree.plan.env["CUDA_VISIBLE_DEVICES"] == ""
    before, after = _intervals(control)
    assert before.closed_at == after.opened_at
    assert (before.price_per_hour_nano, after.price_per_hour_nano) == (CPU, SIM)
    assert _held(control) == [("sim-1", ("d0",))]


async def test_the_plan_says_what_a_switch_would_do(control: Control, alice: Person) -> None:
    await alice.start()
    control.hub.running[0].variables["x"] = 41
    figures = (await alice.plan("switch", workspace="alice/work", machine="sim-1"))["figures"]
    assert figures["mode"] == "restart"
    assert figures["rollback"] == "frozen"
    assert (figures["price_before_nano"], figures["price_after_nano"]) == (CPU, SIM)
    assert figures["availability"] == {"free": 4, "total": 4}
    assert [one["name"] for one in figures["kernels"][0]["variables"]] == ["x"]
    assert (await alice.workspace())["state"] == "ready"


async def test_a_switch_is_held_at_the_old_price_until_verified(control: Control, alice: Person) -> None:
    await alice.start()
    slow = asyncio.Event()
    control.servers.faults.at("restore", until(slow))
    operation = await alice.begin("switch", workspace="alice/work", machine="sim-1")
    await control.servers.faults.reached("restore")
    await control.clock.advance(20)
    assert (await alice.workspace())["price_per_hour_nano"] == CPU
    slow.set()
    assert (await control.ended(operation["id"])).state == "done"
    before, after = _intervals(control)
    assert before.closed_at == after.opened_at == control.clock.now()


FAULTS = [
    ("servers", "save", refuse("save_failed", cause="a test"), "untouched"),
    ("servers", "save", server_away, "untouched"),
    ("hub", "hold", refuse("step_failed", step="hold", cause="a test"), "untouched"),
    ("hub", "stop", refuse("stop_failed", workspace="alice/work"), "untouched"),
    ("hub", "stopped", refuse("stop_failed", workspace="alice/work"), "thawed"),
    ("hub", "start", refuse("start_failed", exit=3), "thawed"),
    ("hub", "spawn", refuse("start_failed", exit=3), "thawed"),
    ("hub", "started", refuse("start_failed", exit=3), "thawed"),
    ("servers", "restore", refuse("restore_failed", cause="a test"), "thawed"),
    ("servers", "restore", server_away, "thawed"),
    ("servers", "health", server_away, "thawed"),
]


@ON_SQLITE
@pytest.mark.parametrize(("part", "stage", "fault", "how"), FAULTS)
async def test_a_switch_that_fails_changes_nothing(
    control: Control, alice: Person, part: str, stage: str, fault: object, how: str
) -> None:
    await alice.start()
    (old,) = control.hub.running
    old.variables["x"] = [1]
    getattr(control, part).faults.at(stage, fault)
    operation = await alice.switch("sim-1")
    assert operation["state"] == "failed"
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("ready", "not_switched")
    assert workspace["spec"]["machine"] == "cpu-small"
    assert workspace["price_per_hour_nano"] == CPU
    assert control.hub.running == [old]
    assert not old.frozen
    assert old.variables == {"x": [1]}
    assert control.hub.server("alice", "work").held_by is None
    assert len(_intervals(control)) == 1
    assert _held(control) == [("cpu-small", ())]
    assert how in {"untouched", (operation["result"] or {}).get("back", {}).get("how")}


async def test_without_freezing_a_failed_switch_starts_the_old_machine_again_with_what_was_saved(
    database_url: str,
) -> None:
    control = Control(database_url, able=Able(freeze=False))
    alice = await control.add_person("alice")
    await alice.start()
    control.hub.running[0].variables["x"] = 5
    plan = await alice.plan("switch", workspace="alice/work", machine="sim-1")
    assert plan["figures"]["rollback"] == "saved"
    control.hub.faults.at("spawn", refuse("start_failed", exit=3))
    operation = await alice.switch("sim-1")
    assert operation["state"] == "failed"
    assert operation["result"]["back"]["how"] == "started again"
    (tree,) = control.hub.running
    assert tree.variables == {"x": 5}
    assert tree.plan.labels["machine"] == "cpu-small"
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["spec"]["machine"]) == ("ready", "cpu-small")
    assert len(_intervals(control)) == 1
    assert _held(control) == [("cpu-small", ())]
    await control.close()


async def test_when_not_even_the_old_machine_comes_back_nothing_is_charged_from_the_stop_on(
    database_url: str,
) -> None:
    control = Control(database_url, able=Able(freeze=False))
    alice = await control.add_person("alice")
    await alice.start()
    control.hub.faults.at("spawn", refuse("start_failed", exit=3), times=3)
    stopped_at = control.clock.now()
    operation = await alice.switch("sim-1")
    assert operation["state"] == "failed"
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("failed", "start_failed")
    assert [interval.closed_at for interval in _intervals(control)] == [stopped_at]
    assert _held(control) == []
    assert control.hub.server("alice", "work").held_by is None
    assert (await alice.start())["state"] == "done"
    await control.close()


async def test_a_switch_to_the_same_machine_is_never_sold_out_against_itself(
    control: Control, alice: Person
) -> None:
    await alice.start(machine="sim-4")
    assert (await alice.switch("sim-4"))["state"] == "done"
    assert (await alice.switch("sim-1"))["state"] == "done"
    assert _held(control) == [("sim-1", ("d0",))]


async def test_a_machine_that_is_taken_is_refused_before_anything_happens(
    control: Control, alice: Person, bob: Person
) -> None:
    await bob.start(machine="sim-4")
    await alice.start()
    answer = await alice.post("/plans", {"kind": "switch", "workspace": "alice/work", "machine": "sim-1"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "sold_out")
    assert error["facts"]["free"] == 0
    assert (await alice.workspace())["state"] == "ready"


async def test_a_second_switch_during_a_switch_is_busy(control: Control, alice: Person) -> None:
    await alice.start()
    slow = asyncio.Event()
    control.servers.faults.at("save", until(slow))
    await alice.begin("switch", workspace="alice/work", machine="sim-1")
    answer = await alice.post("/plans", {"kind": "switch", "workspace": "alice/work", "machine": "sim-1"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "busy")
    slow.set()


async def test_a_plan_made_before_another_switch_is_stale(control: Control, alice: Person) -> None:
    await alice.start()
    plan = await alice.plan("switch", workspace="alice/work", machine="sim-4")
    await alice.switch("sim-1")
    answer = await alice.confirm(plan)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "plan_stale")
    assert (await alice.workspace())["spec"]["machine"] == "sim-1"


async def test_a_cancelled_switch_is_thawed(control: Control, alice: Person) -> None:
    await alice.start()
    (old,) = control.hub.running
    never = asyncio.Event()
    control.hub.faults.at("spawn", until(never))
    operation = await alice.begin("switch", workspace="alice/work", machine="sim-1")
    await control.hub.faults.reached("spawn")
    assert (await alice.post(f"/operations/{operation['id']}/cancel")).status_code == 202
    assert (await control.ended(operation["id"])).state == "cancelled"
    assert control.hub.running == [old]
    assert not old.frozen


async def test_a_switch_past_verify_cannot_be_cancelled(control: Control, alice: Person) -> None:
    await alice.start()
    slow = asyncio.Event()
    control.servers.faults.at("health", until(slow))
    operation = await alice.begin("switch", workspace="alice/work", machine="sim-1")
    await control.servers.faults.reached("health")
    answer = await alice.post(f"/operations/{operation['id']}/cancel")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "too_late")
    slow.set()
    assert (await control.ended(operation["id"])).state == "done"


async def test_cpu_and_memory_change_live_where_the_box_can(database_url: str) -> None:
    control = Control(database_url, able=Able(freeze=True, live_resize=True))
    alice = await control.add_person("alice")
    await alice.start()
    (tree,) = control.hub.running
    plan = await alice.plan("switch", workspace="alice/work", machine="cpu-large")
    assert plan["figures"]["mode"] == "live"
    operation = await alice.switch("cpu-large")
    assert (operation["kind"], operation["state"]) == ("resize", "done")
    assert control.hub.running == [tree]
    assert tree.plan.labels["machine"] == "cpu-large", "the server was told"
    assert control.box.resized[-1][1].memory_bytes == 4 << 30
    before, after = _intervals(control)
    assert before.closed_at == after.opened_at
    assert _held(control) == [("cpu-large", ())]
    await control.close()


async def test_a_machine_smaller_than_what_is_in_use_is_refused_with_the_figure(database_url: str) -> None:
    control = Control(database_url, able=Able(freeze=True, live_resize=True))
    alice = await control.add_person("alice")
    await alice.start(machine="cpu-large")
    plan = await alice.plan("switch", workspace="alice/work", machine="cpu-small")
    control.box.in_use_bytes = 3 << 30
    refused = await alice.post(
        "/plans", {"kind": "switch", "workspace": "alice/work", "machine": "cpu-small"}
    )
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["field"]) == (409, "memory_in_use", "machine")
    assert error["facts"]["in_use_bytes"] == 3 << 30
    assert "3.2 GB" in error["message"]
    assert "3.2 GB" in error["message_zh"]
    late = await alice.confirm(plan)
    assert late.json()["error"]["code"] == "memory_in_use", "what grew between the plan and the press"
    assert control.box.resized == []
    assert (await alice.workspace())["spec"]["machine"] == "cpu-large"
    assert _held(control) == [("cpu-large", ())]
    assert len(_intervals(control)) == 1
    await control.close()


@pytest.mark.parametrize("stage", ["resize", "health"])
async def test_a_live_resize_that_fails_leaves_the_old_machine_in_force(
    database_url: str, stage: str
) -> None:
    control = Control(database_url, able=Able(freeze=True, live_resize=True))
    alice = await control.add_person("alice")
    await alice.start()
    (tree,) = control.hub.running
    control.servers.faults.at(stage, server_away)
    operation = await alice.switch("cpu-large")
    assert operation["state"] == "failed"
    assert control.hub.running == [tree]
    assert control.box.resized[-1][1].memory_bytes == 2 << 30
    assert tree.plan.labels["machine"] == "cpu-small"
    assert _held(control) == [("cpu-small", ())]
    assert [interval.closed_at for interval in _intervals(control)] == [None]
    await control.close()


def _intervals(control: Control) -> list[Interval]:
    with control.db.transaction() as session:
        return ledger.intervals_of(session, ledger.subject_of("alice/work"))


def _held(control: Control) -> list[tuple[str, tuple[str, ...]]]:
    with control.db.transaction() as session:
        return [(lease.machine, lease.device_ids) for lease in leases.of_workspace(session, "alice/work")]


@ON_SQLITE
@pytest.mark.parametrize(
    ("freeze", "snapshot", "durable"), [(True, False, False), (True, True, True), (False, False, True)]
)
async def test_nobody_waits_for_the_disk_where_the_old_machine_is_only_frozen(
    database_url: str, freeze: bool, snapshot: bool, durable: bool
) -> None:
    """Its memory is there until the new one has passed its check; what is kept, or has no other copy, is waited for."""
    control = Control(database_url, able=Able(freeze=freeze))
    alice = await control.add_person("alice")
    await alice.start()
    operation = await alice.switch("sim-1", snapshot=snapshot)
    assert control.servers.durable[operation["id"]] is durable
    await control.close()
