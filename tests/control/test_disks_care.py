"""Disks taken away, filled up and cared for: bin, purge, removal of members, quota, and what a kill leaves."""

from __future__ import annotations

import os

import pytest
from gearshift.model.operation import OperationState
from gearshift_hub.control.app import plug
from gearshift_hub.control.db.disks import DiskRow, DiskState, HomeUsageRow
from gearshift_hub.control.services import disk_care
from gearshift_testing.controls import Control, Person
from gearshift_testing.disk_calls import home_of, make_disk, refusal, send, share_disk, told

GB = 10**9


@pytest.fixture(autouse=True)
def plugged(control: Control) -> None:
    plug(control.ctx)


async def test_a_disk_in_use_is_not_deleted_and_a_free_one_goes_to_the_bin_and_back(
    control: Control, alice: Person
) -> None:
    disk = await make_disk(alice)
    folder = control.ctx.home.disks / disk["id"]
    (folder / "note").write_text("hello")
    await alice.start(disks=[{"disk": disk["id"]}])
    refused = await alice.post("/plans", {"kind": "delete_disk", "disk": "team"})
    assert refusal(refused) == (409, "disk_in_use", "disk")
    assert refused.json()["error"]["facts"]["workspaces"] == ["alice/work"]
    await alice.stop()
    plan = await alice.plan("delete_disk", disk="team")
    assert plan["figures"]["workspaces"] == ["alice/work"]
    assert plan["figures"]["undo_days"] == 7
    assert folder.is_dir(), "a plan changes nothing"
    done = await control.engine.wait((await alice.confirm(plan)).json()["id"])
    assert done.state is OperationState.DONE
    assert not folder.exists()
    assert (await alice.workspace())["spec"]["disks"] == []
    assert len((await alice.get("/disks")).json()) == 1
    await make_disk(alice)  # the name is free again
    assert refusal(await send(alice, "POST", f"/disks/{disk['id']}/restore")) == (409, "disk_exists", "name")
    await alice.do("delete_disk", disk="team")
    back = await send(alice, "POST", f"/disks/{disk['id']}/restore")
    assert back.json()["name"] == "team"
    assert (folder / "note").read_text() == "hello"


async def test_somebody_else_cannot_take_a_disk_out_of_the_bin(alice: Person, bob: Person) -> None:
    disk = await make_disk(alice)
    await alice.do("delete_disk", disk="team")
    assert (await send(bob, "POST", f"/disks/{disk['id']}/restore")).status_code == 404


async def test_a_binned_disk_is_purged_after_seven_days_and_not_before(
    control: Control, alice: Person
) -> None:
    disk = await make_disk(alice)
    await alice.do("delete_disk", disk="team")
    binned = control.ctx.home.disks / ".bin" / disk["id"]
    await control.clock.advance(days=6, hours=23)
    await disk_care.purge(control.ctx)
    assert binned.is_dir()
    await control.clock.advance(hours=1)
    await disk_care.purge(control.ctx)
    assert not binned.exists()
    assert (await send(alice, "POST", f"/disks/{disk['id']}/restore")).status_code == 404


async def test_removing_a_member_stops_their_workspaces_that_have_it_and_no_others(
    control: Control, alice: Person, bob: Person
) -> None:
    home = home_of(control, "bob")
    disk = await make_disk(alice)
    await share_disk(alice, "team", "bob", "rw")
    await bob.start("with", disks=[{"disk": disk["id"]}])
    await bob.start("without")
    plan = await alice.plan("remove_member", disk="team", user="bob")
    assert plan["figures"]["stops"] == ["bob/with"]
    done = await control.engine.wait((await alice.confirm(plan)).json()["id"])
    assert (done.state, done.result) == (OperationState.DONE, {"stopped": ["bob/with"]})
    with_it = await bob.workspace("with")
    assert (with_it["state"], with_it["reason"], with_it["spec"]["disks"]) == ("stopped", "disk_removed", [])
    assert (await bob.workspace("without"))["state"] == "ready"
    assert len((await bob.get("/disks")).json()) == 1
    assert os.listdir(home / "disks") == []
    assert ("disk.member_removed", {"id": disk["id"], "name": "team", "user": "bob"}) in told(control)


async def test_a_member_may_leave_and_may_not_remove_others(
    control: Control, alice: Person, bob: Person
) -> None:
    carol = await control.add_person("carol")
    await make_disk(alice)
    await share_disk(alice, "team", "bob")
    await share_disk(alice, "team", "carol")
    others = await bob.post("/plans", {"kind": "remove_member", "disk": "team", "user": "carol"})
    assert refusal(others) == (403, "forbidden", "disk")
    assert (await bob.do("remove_member", disk="team", user="bob"))["state"] == "done"
    assert (await alice.get("/disks/team")).json()["members"] == [{"user": "carol", "mode": "ro"}]
    assert len((await carol.get("/disks")).json()) == 2


async def test_removal_survives_a_kill_between_its_steps(
    control: Control, alice: Person, bob: Person
) -> None:
    disk = await make_disk(alice)
    await share_disk(alice, "team", "bob")
    await bob.start(disks=[{"disk": disk["id"], "mode": "ro"}])
    operation = await alice.begin("remove_member", disk="team", user="bob")
    after = await control.again()
    plug(after.ctx)
    try:
        done = await after.engine.wait(operation["id"])
        assert done.state is OperationState.DONE
        assert (await after.person("bob").workspace())["state"] == "stopped"
        assert (await after.person("alice").get("/disks/team")).json()["members"] == []
    finally:
        await after.engine.close()
        after.db.close()


async def test_a_disk_whose_making_was_cut_short_is_finished(control: Control, alice: Person) -> None:
    row = DiskRow(
        id="d-cut", name="team", owner="alice", quota_bytes=GB, state=DiskState.MAKING, created_at=control.clock.now()
    )  # fmt: skip
    with control.db.transaction() as session:
        session.add(row)
    assert len((await alice.get("/disks")).json()) == 1
    await disk_care.finish_made(control.ctx)
    assert (await alice.get("/disks/team")).json()["id"] == "d-cut"
    assert (control.ctx.home.disks / "d-cut").is_dir()


async def test_usage_is_measured_told_and_warned_of(control: Control, alice: Person, bob: Person) -> None:
    disk = await make_disk(alice, quota_bytes=1_000_000)
    await share_disk(alice, "team", "bob")
    folder = control.ctx.home.disks / disk["id"]
    (folder / "data").write_bytes(b"x" * 950_000)
    await disk_care.once(control.ctx)
    used = (await alice.get("/disks/team")).json()["used_bytes"]
    assert 950_000 <= used < 1_000_000
    usage = [data for kind, data in told(control) if kind == "disk.usage"]
    assert {data["level"] for data in usage} == {"warn"}
    assert len(usage) == 2, "owner and member are told"
    await disk_care.once(control.ctx)
    assert len([kind for kind, _ in told(control) if kind == "disk.usage"]) == 2, "nothing new, nothing told"


async def test_a_full_disk_refuses_a_members_start_and_lets_its_owner_in_to_make_room(
    control: Control, alice: Person, bob: Person
) -> None:
    disk = await make_disk(alice, quota_bytes=1_000_000)
    await share_disk(alice, "team", "bob")
    (control.ctx.home.disks / disk["id"] / "data").write_bytes(b"x" * 1_100_000)
    await disk_care.once(control.ctx)
    spec = {"image": "pytorch", "machine": "cpu-small", "disks": [{"disk": disk["id"], "mode": "ro"}]}
    refused = await bob.confirm(await bob.plan("start", name="work", spec=spec))
    assert refusal(refused) == (507, "disk_full", "disks")
    assert control.hub.running == []
    assert (await alice.start(disks=[{"disk": disk["id"]}]))["state"] == "done"
    assert (await send(alice, "PATCH", "/disks/team", {"quota_bytes": 5 * GB})).json()[
        "quota_bytes"
    ] == 5 * GB
    assert (await bob.start(disks=[{"disk": disk["id"], "mode": "ro"}]))["state"] == "done"


async def test_a_home_in_use_is_measured(control: Control, alice: Person) -> None:
    (home_of(control, "alice") / "data").write_bytes(b"x" * 100_000)
    await alice.start()
    await disk_care.once(control.ctx)
    assert 100_000 <= (await alice.get("/disks")).json()[0]["used_bytes"] < 200_000
    with control.db.transaction() as session:
        assert session.get(HomeUsageRow, "alice") is not None


async def test_a_disk_whose_folder_is_gone_is_named_and_never_made_anew(
    control: Control, alice: Person
) -> None:
    disk = await make_disk(alice)
    folder = control.ctx.home.disks / disk["id"]
    folder.rmdir()
    spec = {"image": "pytorch", "machine": "cpu-small", "disks": [{"disk": disk["id"]}]}
    refused = await alice.confirm(await alice.plan("start", name="work", spec=spec))
    assert refusal(refused) == (409, "disk_missing", "disks")
    await disk_care.once(control.ctx)
    assert not folder.exists()


async def test_a_deleted_person_leaves_no_disk_behind_and_no_membership(
    control: Control, alice: Person, bob: Person
) -> None:
    mine, shared = await make_disk(alice), await make_disk(bob, "group")
    await share_disk(bob, "group", "alice")
    for forget in control.ctx.hooks.account_deleted:
        await forget("alice")
    assert (control.ctx.home.disks / ".bin" / mine["id"]).is_dir()
    assert (await bob.get(f"/disks/{shared['id']}")).json()["members"] == []
