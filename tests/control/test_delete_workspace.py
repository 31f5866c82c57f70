"""A stopped workspace is deleted by plan and press: what goes, what stays, and a new one under the same name."""

from __future__ import annotations

from gearshift_testing.controls import Control, Person
from gearshift_testing.fakes import hub_away

WORK = "alice/work"


async def test_a_stopped_workspace_is_deleted_with_what_was_kept_and_its_ledger_stays(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.running[-1].variables["x"] = 1
    await control.clock.advance(hours=1)
    await alice.stop()
    before = (await alice.get("/ledger")).json()["entries"]
    plan = await alice.plan("delete_workspace", workspace=WORK)
    figures = plan["figures"]
    assert (figures["states"], figures["variables"], figures["state_bytes"]) == (1, 1, 1000)
    assert "files" in figures["stays"]
    assert "states" in figures["goes"]
    operation = (await alice.confirm(plan)).json()
    assert (await control.ended(operation["id"])).state == "done"
    assert (await alice.get("/workspaces")).json() == []
    assert (await alice.get("/states")).json() == []
    assert (await alice.get(f"/workspaces/{WORK}")).status_code == 404
    assert ("alice", "work") not in control.hub.servers_by_id
    assert (await alice.get("/ledger")).json()["entries"] == before
    assert (await alice.get(f"/operations/{operation['id']}")).json()["state"] == "done"


async def test_a_running_workspace_is_not_deleted(control: Control, alice: Person) -> None:
    await alice.start()
    answer = await alice.post("/plans", {"kind": "delete_workspace", "workspace": WORK})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "still_running")
    await alice.stop()
    plan = await alice.plan("delete_workspace", workspace=WORK)
    await alice.start()
    assert (await alice.confirm(plan)).json()["error"]["code"] == "still_running"
    assert (await alice.workspace())["state"] == "ready"


async def test_two_presses_delete_once(control: Control, alice: Person) -> None:
    await alice.start()
    await alice.stop()
    plan = await alice.plan("delete_workspace", workspace=WORK)
    operation = (await alice.confirm(plan)).json()
    assert (await alice.confirm(plan)).json()["error"]["code"] == "plan_used"
    assert (await control.ended(operation["id"])).state == "done"
    again = await alice.post("/plans", {"kind": "delete_workspace", "workspace": WORK})
    assert again.json()["error"]["code"] == "unknown_workspace"


async def test_a_new_workspace_of_the_same_name_begins_empty_with_trees_of_other_names(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.hub.running[-1].variables["x"] = 1
    old_tree = control.hub.running[-1].name
    await alice.stop()
    await alice.do("delete_workspace", workspace=WORK)
    assert (await alice.start())["state"] == "done"
    assert control.hub.running[-1].variables == {}
    assert control.hub.running[-1].name != old_tree
    assert [one["name"] for one in (await alice.get("/workspaces")).json()] == ["work"]


async def test_while_it_is_being_deleted_nothing_else_begins(control: Control, alice: Person) -> None:
    await alice.start()
    await alice.stop()
    control.hub.faults.at("remove", hub_away, times=3)
    operation = await alice.begin("delete_workspace", workspace=WORK)
    for kind in ("start", "stop"):
        plan = await alice.post("/plans", {"kind": kind, "workspace": WORK})
        answer = await alice.confirm(plan.json()) if plan.status_code == 201 else plan
        assert answer.json()["error"]["code"] == "busy"
    assert (await control.ended(operation["id"])).state == "done"


async def test_a_hub_that_stays_away_leaves_the_workspace_to_be_deleted_again(
    control: Control, alice: Person
) -> None:
    await alice.start()
    await alice.stop()
    control.hub.faults.at("remove", hub_away, times=1000)
    failed = await alice.do("delete_workspace", workspace=WORK)
    assert failed["state"] == "failed"
    control.hub.faults.clear()
    assert (await alice.do("delete_workspace", workspace=WORK))["state"] == "done"


async def test_control_killed_in_the_middle_of_a_deletion_goes_on_with_it(
    control: Control, alice: Person
) -> None:
    await alice.start()
    await alice.stop()
    control.hub.faults.at("remove", hub_away, times=1000)
    operation = await alice.begin("delete_workspace", workspace=WORK)
    again = await control.again()
    again.hub.faults.clear()
    assert (await again.ended(operation["id"])).state == "done"
    assert (await again.person("alice").get("/workspaces")).json() == []
    await again.close()


async def test_with_an_account_goes_what_was_kept_of_its_kernels(control: Control, alice: Person) -> None:
    await alice.start()
    await alice.stop()
    async with control.inside() as client:
        assert (await client.delete("/internal/accounts/alice")).status_code < 300
    assert len(control.box.forgotten) == 1
