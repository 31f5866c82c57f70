"""What a plan says a switch takes: guessed at first, then learned from the switches that were measured."""

from __future__ import annotations

from typing import Any

import pytest
from gearshift_testing.controls import ON_SQLITE, Control, Person

GB = 10**9

pytestmark = ON_SQLITE


async def figures(person: Person, machine: str = "sim-1", **body: Any) -> dict[str, Any]:
    plan = await person.plan("switch", workspace=f"{person.name}/work", machine=machine, **body)
    shown: dict[str, Any] = plan["figures"]
    return shown


def took(operation: dict[str, Any], stage: str) -> float:
    from gearshift.model.units import from_iso

    step = next(one for one in operation["steps"] if one["name"] == stage)
    return (from_iso(step["ended_at"]) - from_iso(step["started_at"])).total_seconds()


async def test_before_anything_was_measured_the_disk_is_probed_and_the_plan_says_that_it_guesses(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.running[0].variables["x"] = range(2 * GB)
    control.servers.bytes_per_second = 0.5 * GB
    shown = await figures(alice)
    assert shown["learned_from"] == 0
    assert shown["bytes"] == 2 * GB
    assert shown["stages"]["save"] == pytest.approx(4, abs=0.5)
    assert shown["seconds"] == pytest.approx(sum(shown["stages"].values()), abs=0.1)


async def test_the_next_plan_is_learned_from_what_the_last_switches_took(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.servers.bytes_per_second = 0.25 * GB
    for size, machine in ((1, "sim-1"), (3, "cpu-small"), (2, "sim-1")):
        control.hub.running[0].variables["x"] = range(size * GB)
        await alice.switch(machine)
    control.hub.running[0].variables["x"] = range(4 * GB)
    shown = await figures(alice, "cpu-small")
    assert shown["learned_from"] == 3
    assert shown["stages"]["save"] == pytest.approx(16, rel=0.1)
    operation = await alice.switch("cpu-small")
    assert operation["expected"] == pytest.approx(shown["stages"], rel=0.05)
    for stage in ("save", "restore"):
        assert took(operation, stage) == pytest.approx(shown["stages"][stage], rel=0.25)


async def test_a_switch_says_where_it_came_from_and_where_it_goes(control: Control, alice: Person) -> None:
    await alice.start()
    operation = await alice.switch("sim-1")
    assert (operation["from_machine"], operation["to_machine"]) == ("cpu-small", "sim-1")
    back = await alice.switch("cpu-small")
    assert (back["from_machine"], back["to_machine"]) == ("sim-1", "cpu-small")


async def test_waiting_for_a_cell_teaches_nothing_about_the_disk(control: Control, alice: Person) -> None:
    await alice.start()
    before = await figures(alice)
    control.servers.waited_seconds = 50.0
    await alice.switch("sim-1")
    control.servers.waited_seconds = 0.0
    after = await figures(alice, "cpu-small")
    assert after["stages"]["save"] <= before["stages"]["save"] + 1


async def test_cells_that_run_again_are_agreed_to_by_name_and_their_seconds_are_counted(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.running[0].variables |= {"loader": iter([1]), "x": 5}
    without = await figures(alice)
    assert without["rerun"] == {}
    suggested = await figures(alice, rerun="suggested")
    assert suggested["rerun"] == {"k1": ["loader"]}
    assert suggested["stages"]["restore"] == pytest.approx(without["stages"]["restore"] + 2)
    operation = await alice.switch("sim-1", rerun={"k1": ["loader", "x"]})
    assert control.servers.reruns[operation["id"]] == {"k1": ["loader"]}, "what is copied needs no cell"


async def test_what_stood_midway_is_lost_and_cells_that_reach_outside_are_not_suggested(
    control: Control, alice: Person
) -> None:
    await alice.start()
    rows = {
        "stepper": {"verdict": "cannot_move", "code": "generator", "cells": [2]},
        "conn": {
            "verdict": "cannot_move",
            "code": "connection",
            "cells": [3],
            "caution": "it reaches outside",
        },
        "loader": {"verdict": "rerun", "cells": [4], "seconds": 1.0},
        "orphan": {"verdict": "cannot_move", "code": "lock", "cells": []},
        "copied": {"verdict": "copy", "cells": [5], "bytes": 1},
    }
    control.servers.told = [{"name": name, "type": "t", **told} for name, told in rows.items()]
    shown = await figures(alice, rerun="suggested")
    told = {one["name"]: one for one in shown["kernels"][0]["variables"]}
    assert [name for name, one in told.items() if one["lost"]] == ["stepper", "orphan"]
    assert shown["rerun"] == {"k1": ["loader"]}
    chosen = await figures(alice, rerun=["stepper", "conn", "orphan", "copied"])
    assert chosen["rerun"] == {"k1": ["stepper", "conn"]}, "what a person wants to run again runs again"


async def test_what_is_left_out_is_not_counted_and_stays_behind_in_its_own_kernel_only(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.running[0].variables |= {"big": range(GB), "small": 1, "loader": iter([1])}
    shown = await figures(alice, leave_out={"k1": ["big", "loader"]}, rerun="suggested")
    assert shown["bytes"] == 8
    assert shown["rerun"] == {}
    await alice.switch("sim-1", leave_out={"k1": ["big"], "another kernel": ["small"]})
    assert set(control.hub.running[0].variables) == {"small", "loader"}


@pytest.mark.parametrize("field", ["leave_out", "rerun"])
@pytest.mark.parametrize("value", ["x", 5, [5], {"k1": "x"}, {"k1": [1]}, None])
async def test_names_that_are_none_are_refused(
    control: Control, alice: Person, field: str, value: object
) -> None:
    await alice.start()
    body = {"kind": "switch", "workspace": "alice/work", "machine": "sim-1", field: value}
    answer = await alice.post("/plans", body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


async def test_the_plan_compares_what_is_in_use_with_what_the_machine_has(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.servers.memory = {"ram_bytes": GB, "device_bytes": 3 * GB}
    with_chip = (await figures(alice, "sim-1"))["fits"]
    assert with_chip["ok"]
    assert with_chip["chips"] == {"used_bytes": 3 * GB, "has_bytes": 16 << 30}
    without = (await figures(alice, "cpu-large"))["fits"]
    assert without["memory"] == {"used_bytes": 4 * GB, "has_bytes": 4 << 30}, "tensors move to memory"
    control.servers.memory = {"ram_bytes": 3 * GB, "device_bytes": 0}
    assert not (await figures(alice, "sim-1"))["fits"]["ok"]
    control.servers.memory = {"ram_bytes": None, "device_bytes": 0}
    assert (await figures(alice, "sim-1"))["fits"]["memory"]["used_bytes"] is None


async def test_a_plan_is_void_once_the_kernel_has_run_again_and_says_so(
    control: Control, alice: Person
) -> None:
    await alice.start()
    plan = await alice.plan("switch", workspace="alice/work", machine="sim-1")
    control.servers.executions += 1
    answer = await alice.confirm(plan)
    assert answer.status_code == 409
    assert answer.json()["error"]["message"] == (
        "Plan updated: the state of a kernel changed. Check and press again."
    )
    plan = await alice.plan("switch", workspace="alice/work", machine="sim-1")
    control.hub.running[0].variables |= dict.fromkeys(("a", "b", "c", "d"), 1)
    said = (await alice.confirm(plan)).json()["error"]
    assert "a, b, c, … changed" in said["message"]
    assert "a、b、c、… 有变化" in said["message_zh"]


async def test_rubbish_from_the_workspaces_own_server_changes_no_plan(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.servers.memory = {"ram_bytes": float("nan"), "device_bytes": "much"}  # type: ignore[dict-item]
    control.servers.bytes_per_second = -1.0
    shown = await figures(alice)
    assert shown["fits"]["ok"]
    assert shown["seconds"] > 0


async def test_each_machine_says_what_a_switch_to_it_takes_and_whether_the_kernels_fit(
    control: Control, alice: Person, bob: Person, root: Person
) -> None:
    await alice.start()
    control.hub.running[0].variables["x"] = range(2 * GB)
    control.servers.bytes_per_second = 0.5 * GB
    control.servers.memory = {"ram_bytes": 3 * GB, "device_bytes": 0}
    answer = await alice.get("/workspaces/alice/work/switch-times")
    assert answer.status_code == 200, answer.text
    times = {one["machine"]: one for one in answer.json()}
    assert set(times) == {machine.id for machine in control.deployment.machines}
    assert times["sim-1"]["seconds"] == pytest.approx((await figures(alice))["seconds"], rel=0.2)
    assert not times["sim-1"]["fits"]["ok"]
    assert times["sim-4"]["fits"]["ok"]
    assert (await alice.workspace())["state"] == "ready"
    assert (await root.get("/workspaces/alice/work/switch-times")).status_code == 200
    assert (await bob.get("/workspaces/alice/work/switch-times")).status_code == 403
    assert (await alice.get("/workspaces/alice/none/switch-times")).status_code == 404
    async with control.outside() as nobody:
        assert (await nobody.get("/api/v1/workspaces/alice/work/switch-times")).status_code == 401
    await alice.stop()
    assert (await alice.get("/workspaces/alice/work/switch-times")).status_code == 409


async def test_a_plan_that_does_not_fit_is_refused_with_the_figure_until_enough_is_left_out(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.running[0].variables |= {"big": range(2 * GB), "small": 1}
    control.servers.memory = {"ram_bytes": 3 * GB, "device_bytes": 0}
    refused = await alice.confirm(await alice.plan("switch", workspace="alice/work", machine="sim-1"))
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["field"]) == (409, "too_small", "machine")
    assert (error["facts"]["need_bytes"], error["facts"]["have_bytes"]) == (3 * GB, 2 << 30)
    assert "3 GB" in error["message"]
    assert "3 GB" in error["message_zh"]
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["spec"]["machine"]) == ("ready", "cpu-small")
    shown = await figures(alice, leave_out=["big"])
    assert shown["fits"] == {
        "memory": {"used_bytes": GB, "has_bytes": 2 << 30},
        "chips": {"used_bytes": 0, "has_bytes": 16 << 30},
        "ok": True,
    }
    assert (await alice.switch("sim-1", leave_out=["big"]))["state"] == "done"


async def test_what_grew_between_the_plan_and_the_press_is_refused_too(
    control: Control, alice: Person
) -> None:
    await alice.start()
    plan = await alice.plan("switch", workspace="alice/work", machine="sim-1")
    control.servers.memory = {"ram_bytes": GB, "device_bytes": 17 << 30}
    error = (await alice.confirm(plan)).json()["error"]
    assert (error["code"], error["facts"]["what"]) == ("too_small", "GPU memory")
    assert (error["facts"]["need_bytes"], error["facts"]["have_bytes"]) == (17 << 30, 16 << 30)
