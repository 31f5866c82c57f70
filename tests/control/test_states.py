"""Kept kernel state: a plain start brings it back, snapshots are taken, listed, restored, bounded and forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from gearshift.model.kept_state import StateKind
from gearshift_hub.control.services import states
from gearshift_testing.controls import ON_SQLITE, Control, Person
from gearshift_testing.fakes import refuse, server_away

WORK = "alice/work"
VARIABLES: dict[str, object] = {"model": 7, "step": 9}


def holds(control: Control, **variables: object) -> None:
    """The kernels of the tree that runs hold these from now on."""
    control.hub.running[-1].variables |= variables


def held(control: Control) -> dict[str, object]:
    return control.hub.running[-1].variables


async def kept(who: Person, workspace: str = WORK) -> list[dict[str, Any]]:
    answer = await who.get(f"/workspaces/{workspace}/states")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


async def snapshot(control: Control, who: Person, **asked: str) -> dict[str, Any]:
    answer = await who.post(f"/workspaces/{WORK}/states", asked)
    assert answer.status_code == 202, answer.text
    return (await control.ended(answer.json()["id"])).model_dump(mode="json")


@pytest.fixture
async def stopped(control: Control, alice: Person) -> str:
    """A workspace that was stopped with two variables; the id of what was kept."""
    await alice.start()
    holds(control, **VARIABLES)
    operation: str = (await alice.stop())["id"]
    return operation


async def test_a_plain_start_brings_back_what_the_stop_saved(
    control: Control, alice: Person, stopped: str
) -> None:
    operation = await alice.start()
    assert operation["state"] == "done"
    assert held(control) == VARIABLES
    restored = operation["result"]["restored"]
    assert (restored["variables"], restored["state"], restored["ok"]) == (2, stopped, True)
    launched = control.hub.running[-1].plan.env
    assert launched["GEARSHIFT_RESTORE"] == operation["id"]
    assert launched["GEARSHIFT_RESTORE_STATE"] == stopped


async def test_a_start_may_be_asked_for_fresh_and_the_state_stays_kept(
    control: Control, alice: Person, stopped: str
) -> None:
    plan = await alice.plan("start", workspace=WORK, state="none")
    assert plan["figures"]["restores"] is None
    operation = (await alice.confirm(plan)).json()
    assert (await control.ended(operation["id"])).state == "done"
    assert held(control) == {}
    assert [one["id"] for one in await kept(alice)] == [stopped]


async def test_the_plan_of_a_start_says_what_comes_back(alice: Person, stopped: str) -> None:
    figures = (await alice.plan("start", workspace=WORK))["figures"]
    assert figures["restores"]["id"] == stopped
    assert figures["restores"]["kernels"][0]["variables"] == ["model", "step"]
    for unknown in ("op-none", 7, ["newest"]):
        answer = await alice.post("/plans", {"kind": "start", "workspace": WORK, "state": unknown})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_state")


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (refuse("state_refused", state="op", cause="a checksum is wrong"), "state_refused"),
        (refuse("restore_failed", machine="m", cause="a test"), "restore_failed"),
        (server_away, "restore_failed"),
    ],
)
async def test_a_state_that_does_not_come_back_fails_no_start_and_stays_kept(
    control: Control, alice: Person, stopped: str, fault: Any, code: str
) -> None:
    control.servers.faults.at("restore", fault)
    operation = await alice.start()
    assert (operation["state"], operation["error"]) == ("done", None)
    restored = operation["result"]["restored"]
    assert (restored["ok"], restored["state"], restored["error"]["code"]) == (False, stopped, code)
    assert (await alice.workspace())["state"] == "ready"
    assert [one["id"] for one in await kept(alice)] == [stopped]


async def test_a_restore_that_hangs_holds_no_start_past_its_deadline(
    control: Control, alice: Person, stopped: str
) -> None:
    control.servers.faults.at("restore", lambda: control.clock.sleep(10_000))
    operation = await alice.start()
    assert (operation["state"], operation["error"]) == ("done", None)
    assert "took over" in operation["result"]["restored"]["error"]["message"]


async def test_a_start_that_waits_for_the_stop_brings_back_what_that_stop_saves(
    control: Control, alice: Person
) -> None:
    await alice.start()
    holds(control, late=1)
    await alice.begin("stop", workspace=WORK)
    started = await alice.begin("start", workspace=WORK)
    assert (await control.ended(started["id"])).state == "done"
    assert held(control) == {"late": 1}


async def test_a_stop_at_which_no_kernel_ran_is_not_filled_from_an_older_one(
    control: Control, alice: Person, stopped: str
) -> None:
    await alice.do("start", workspace=WORK, state="none")
    await alice.stop()
    await alice.start()
    assert held(control) == {}


async def test_after_a_server_that_died_the_last_snapshot_comes_back(control: Control, alice: Person) -> None:
    await alice.start()
    holds(control, epoch=3)
    taken = await snapshot(control, alice, note="before the long run")
    assert (taken["state"], taken["kind"]) == ("done", "snapshot")
    holds(control, epoch=4)
    control.hub.die("alice", "work", exit_code=-9)
    await control.look()
    await alice.start()
    assert held(control) == {"epoch": 3}


async def test_a_snapshot_stops_nothing_and_is_listed_with_what_it_holds(
    control: Control, alice: Person
) -> None:
    await alice.start()
    holds(control, **VARIABLES)
    taken = await snapshot(control, alice, note="first")
    assert (await alice.workspace())["state"] == "ready"
    (one,) = await kept(alice)
    assert (one["id"], one["kind"], one["note"], one["bytes"]) == (taken["id"], "snapshot", "first", 1000)
    assert one["kernels"][0]["variables"] == ["model", "step"]
    assert (await alice.get("/states")).json() == [one]


async def test_a_snapshot_comes_back_into_the_running_workspace_after_saying_what_it_overwrites(
    control: Control, alice: Person
) -> None:
    await alice.start()
    holds(control, **VARIABLES)
    state = (await snapshot(control, alice))["id"]
    control.hub.running[-1].variables = {"model": "spoiled", "other": 1}
    plan = await alice.plan("restore_state", workspace=WORK, state=state)
    (kernel,) = plan["figures"]["kernels"]
    assert (kernel["running"], kernel["overwritten"]) == (True, ["model"])
    operation = (await alice.confirm(plan)).json()
    ended = await control.ended(operation["id"])
    assert (ended.state, ended.kind) == ("done", "restore")
    assert held(control) == {**VARIABLES, "other": 1}


async def test_names_that_changed_after_the_plan_make_it_stale(control: Control, alice: Person) -> None:
    await alice.start()
    holds(control, **VARIABLES)
    state = (await snapshot(control, alice))["id"]
    control.hub.running[-1].variables = {}
    plan = await alice.plan("restore_state", workspace=WORK, state=state)
    holds(control, model="new")
    answer = await alice.confirm(plan)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "plan_stale")


async def test_a_tampered_snapshot_is_refused_with_its_code(control: Control, alice: Person) -> None:
    await alice.start()
    state = (await snapshot(control, alice))["id"]
    control.servers.faults.at("restore", refuse("state_refused", state=state, cause="a checksum is wrong"))
    ended = await alice.do("restore_state", workspace=WORK, state=state)
    assert (ended["state"], ended["error"]["code"]) == ("failed", "state_refused")
    assert (await alice.workspace())["state"] == "ready"


async def test_a_snapshot_that_fails_leaves_nothing(control: Control, alice: Person) -> None:
    await alice.start()
    control.servers.faults.at("save", refuse("save_failed", cause="a cell is running"))
    failed = await snapshot(control, alice)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "save_failed")
    assert await kept(alice) == []
    assert control.box.forgotten == [failed["id"]]


@ON_SQLITE
async def test_a_snapshot_needs_a_running_workspace_and_words_that_fit(alice: Person, stopped: str) -> None:
    for body, code in (
        ({}, "not_running"),
        ({"busy": "interrupt"}, "bad_request"),
        ({"note": "n" * 201}, "bad_request"),
        ({"more": 1}, "bad_request"),
    ):
        answer = await alice.post(f"/workspaces/{WORK}/states", body)
        assert answer.json()["error"]["code"] == code


async def test_a_snapshot_over_the_bound_is_refused_with_the_figures(control: Control, alice: Person) -> None:
    await alice.start()
    bound = control.ctx.deployment.state.per_person_bytes
    first = await snapshot(control, alice)
    with control.db.transaction() as session:
        states.get(session, "alice", "work", first["id"]).bytes = bound - 500
    refused = await snapshot(control, alice)
    assert refused["error"]["code"] == "state_full"
    assert set(refused["error"]["facts"]) >= {"size", "limit", "used"}
    assert refused["id"] in control.box.forgotten
    assert [one["id"] for one in await kept(alice)] == [first["id"]]


async def test_kept_states_are_forgotten_after_their_days_and_beyond_the_bound(
    control: Control, alice: Person
) -> None:
    stops = []
    for _ in range(3):
        await alice.start()
        stops.append((await alice.stop())["id"])
        await control.clock.advance(days=1)
    bound = control.ctx.deployment.state.per_person_bytes
    with control.db.transaction() as session:
        states.get(session, "alice", "work", stops[1]).bytes = bound
    await states.prune(control.ctx)
    assert [one["id"] for one in await kept(alice)] == [stops[2]]
    assert control.box.forgotten == stops[:2]
    await control.clock.advance(days=control.ctx.deployment.state.keep_days)
    await states.prune(control.ctx)
    assert await kept(alice) == []


async def test_a_kept_state_is_deleted_by_plan_and_press_for_good(
    control: Control, alice: Person, stopped: str
) -> None:
    plan = await alice.plan("delete_state", workspace=WORK, state=stopped)
    assert plan["figures"]["state"]["id"] == stopped
    deleted = await alice.confirm(plan)
    assert (deleted.status_code, deleted.json()["id"]) == (202, stopped)
    assert control.box.forgotten == [stopped]
    assert await kept(alice) == []
    again = await alice.post("/plans", {"kind": "delete_state", "workspace": WORK, "state": stopped})
    assert again.json()["error"]["code"] == "unknown_state"


async def test_a_stop_ends_a_snapshot_that_hangs(control: Control, alice: Person) -> None:
    await alice.start()
    control.servers.faults.at("save", lambda: control.clock.sleep(10_000))
    answer = await alice.post(f"/workspaces/{WORK}/states", {})
    stopped = await alice.stop()
    assert (await control.ended(answer.json()["id"])).state == "cancelled"
    assert stopped["state"] == "done"


async def test_what_a_server_says_of_its_save_is_kept_only_as_far_as_it_makes_sense(
    control: Control, alice: Person
) -> None:
    await alice.start()
    rubbish: dict[str, Any] = {"seconds": "long", "kernels": [None, {"variables": [3, {"name": "a\0b"}]}]}
    with control.db.transaction() as session:
        assert states.keep(
            control.ctx,
            session,
            owner="alice",
            name="work",
            operation="op-rubbish",
            kind=StateKind.STOP,
            report=rubbish,
        )
    (one,) = await kept(alice)
    assert one["kernels"] == [{"kernel_id": "", "path": "", "name": "", "variables": [], "lost": 1}]
    control.box.state_sizes["op-not-there"] = None
    with control.db.transaction() as session:
        assert not states.keep(
            control.ctx,
            session,
            owner="alice",
            name="work",
            operation="op-not-there",
            kind=StateKind.STOP,
            report={},
        )


async def test_a_switch_keeps_its_save_as_a_snapshot_when_asked(control: Control, alice: Person) -> None:
    await alice.start()
    holds(control, epoch=3)
    assert (await alice.switch("sim-1"))["state"] == "done"
    assert await kept(alice) == []
    plan = await alice.plan("switch", workspace=WORK, machine="cpu-small", snapshot=True)
    bound = control.ctx.deployment.state.per_person_bytes
    assert plan["figures"]["snapshot"] == {"asked": True, "room_bytes": bound}
    operation = (await alice.confirm(plan)).json()
    assert (await control.ended(operation["id"])).state == "done"
    (one,) = await kept(alice)
    assert (one["id"], one["kind"], one["machine"]) == (operation["id"], "switch", "sim-1")
    answer = await alice.post(
        "/plans", {"kind": "switch", "workspace": WORK, "machine": "sim-1", "snapshot": 1}
    )
    assert answer.json()["error"]["code"] == "bad_request"


async def test_a_switch_whose_snapshot_has_no_room_stops_nothing(control: Control, alice: Person) -> None:
    await alice.start()
    holds(control, epoch=3)
    first = await snapshot(control, alice)
    with control.db.transaction() as session:
        bound = control.ctx.deployment.state.per_person_bytes
        states.get(session, "alice", "work", first["id"]).bytes = bound - 500
    operation = await alice.switch("sim-1", snapshot=True)
    assert (operation["state"], operation["error"]["code"]) == ("failed", "state_full")
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["spec"]["machine"]) == ("ready", "cpu-small")
    assert held(control) == {"epoch": 3}
