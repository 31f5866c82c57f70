"""Disks through the public door: made, shared, attached, measured, taken away; each refusal names its field."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from gearshift.model.operation import OperationState
from gearshift_hub.backends.base import Able
from gearshift_hub.control.app import plug
from gearshift_hub.control.db.disks import DiskRow, DiskState, HomeUsageRow
from gearshift_hub.control.services import disk_access, disk_care
from gearshift_testing.controls import Control, Person

GB = 10**9


@pytest.fixture(autouse=True)
def plugged(control: Control) -> None:
    plug(control.ctx)


async def send(person: Person, method: str, path: str, body: Any = None) -> httpx.Response:
    async with person.control.outside(person.headers) as client:
        return await client.request(method, f"/api/v1{path}", json=body)


async def make(person: Person, name: str = "team", **more: Any) -> dict[str, Any]:
    answer = await send(person, "POST", "/disks", {"name": name, **more})
    assert answer.status_code == 201, answer.text
    disk: dict[str, Any] = answer.json()
    return disk


async def share(owner: Person, disk: str, user: str, mode: str = "ro") -> dict[str, Any]:
    answer = await send(owner, "PUT", f"/disks/{disk}/members/{user}", {"mode": mode})
    assert answer.status_code == 200, answer.text
    shared: dict[str, Any] = answer.json()
    return shared


def refusal(answer: httpx.Response) -> tuple[int, str, str | None]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["field"]


def home_of(control: Control, name: str) -> Path:
    """The person's home, as the box would have made it."""
    home = control.ctx.home.homes / name
    home.mkdir(parents=True, exist_ok=True)
    return home


async def attach(person: Person, disk: str, mode: str | None = None, name: str = "work") -> httpx.Response:
    return await send(person, "POST", f"/workspaces/{person.name}/{name}/disks", {"disk": disk, "mode": mode})


async def test_a_disk_is_made_with_its_folder_and_listed_after_the_home(
    control: Control, alice: Person
) -> None:
    disk = await make(alice, quota_bytes=5 * GB)
    assert (control.ctx.home.disks / disk["id"]).is_dir()
    home, listed = (await alice.get("/disks")).json()
    assert (home["id"], home["path_hint"], home["mode_for_me"]) == ("home", "~", "rw")
    assert listed == disk
    assert (disk["name"], disk["owner"], disk["quota_bytes"], disk["path_hint"]) == (
        "team",
        "alice",
        5 * GB,
        "~/disks/team",
    )
    assert disk["used_bytes"] == 0
    assert (await alice.get("/disks/team")).json() == (await alice.get(f"/disks/{disk['id']}")).json() == disk


async def test_a_name_that_cannot_be_is_refused_by_field_and_leaves_nothing(
    control: Control, alice: Person
) -> None:
    for name in ("../x", "测试 a@b", "a" * 300, "", "Team", "a/b", "-a"):
        answer = await send(alice, "POST", "/disks", {"name": name})
        assert refusal(answer) == (422, "bad_name", "name")
        assert answer.json()["error"]["value"] == name
        assert answer.json()["error"]["allowed"]
    assert len((await alice.get("/disks")).json()) == 1
    assert list(control.ctx.home.disks.iterdir()) == []


async def test_a_second_disk_of_one_name_is_refused_but_another_person_may_have_it(
    alice: Person, bob: Person
) -> None:
    await make(alice)
    assert refusal(await send(alice, "POST", "/disks", {"name": "team"})) == (409, "disk_exists", "name")
    assert refusal(await send(alice, "POST", "/disks", {"name": "home"})) == (409, "disk_exists", "name")
    await make(bob)


async def test_a_size_that_cannot_be_is_refused(alice: Person) -> None:
    for quota, expected in (
        (0, (422, "bad_request")),
        (-1, (422, "bad_request")),
        (10**18, (413, "too_large")),
    ):
        answer = await send(alice, "POST", "/disks", {"name": "team", "quota_bytes": quota})
        assert refusal(answer) == (*expected, "quota_bytes")


async def test_a_shared_disk_is_seen_by_its_member_as_they_may_use_it(alice: Person, bob: Person) -> None:
    disk = await make(alice)
    assert (await bob.get(f"/disks/{disk['id']}")).status_code == 404
    shared = await share(alice, "team", "bob")
    assert shared["members"] == [{"user": "bob", "mode": "ro"}]
    seen = (await bob.get("/disks")).json()[1]
    assert (seen["id"], seen["owner"], seen["mode_for_me"]) == (disk["id"], "alice", "ro")
    await share(alice, "team", "bob", "rw")
    assert (await bob.get("/disks")).json()[1]["mode_for_me"] == "rw"


async def test_only_the_owner_shares_and_only_with_people_there_are(alice: Person, bob: Person) -> None:
    disk = await make(alice)
    await share(alice, "team", "bob", "rw")
    by_bob = await send(bob, "PUT", f"/disks/{disk['id']}/members/bob", {"mode": "rw"})
    assert refusal(by_bob) == (403, "forbidden", "disk")
    nobody = await send(alice, "PUT", "/disks/team/members/nobody", {"mode": "ro"})
    assert refusal(nobody) == (404, "unknown_user", "user")
    herself = await send(alice, "PUT", "/disks/team/members/alice", {"mode": "ro"})
    assert refusal(herself) == (422, "bad_request", "user")
    oddly = await send(alice, "PUT", "/disks/team/members/bob", {"mode": "admin"})
    assert oddly.status_code == 422
    assert (await alice.get("/disks/team")).json()["members"] == [{"user": "bob", "mode": "rw"}]


async def test_attaching_takes_effect_at_the_next_start_and_is_seen_there(
    control: Control, alice: Person
) -> None:
    disk = await make(alice)
    home = home_of(control, "alice")
    await alice.start()
    answer = await attach(alice, "team")
    assert answer.json() == {"disk": disk["id"], "mode": "rw", "takes_effect": "next_start"}
    assert await attach(alice, "team") is not None  # again: the same
    assert not (home / "disks").exists()
    assert control.hub.trees[-1].plan.mounts == ()
    await alice.stop()
    await alice.do("start", name="work")
    folder = str(control.ctx.home.disks / disk["id"])
    mounts = [mount.model_dump() for mount in control.hub.trees[-1].plan.mounts]
    assert mounts == [{"source": folder, "target": folder, "read_only": False}]
    assert (home / "disks" / "team").readlink() == Path(folder)
    assert (await alice.get("/disks/team")).json()["attached_to"] == ["alice/work"]


async def test_a_read_only_member_gets_it_read_only_and_not_more(
    control: Control, alice: Person, bob: Person
) -> None:
    disk = await make(alice)
    await share(alice, "team", "bob")
    await bob.start()
    assert refusal(await attach(bob, "team", "rw")) == (403, "disk_readonly", "mode")
    assert (await attach(bob, "team")).json()["mode"] == "ro"
    await bob.stop()
    await bob.do("start", name="work")
    assert control.hub.trees[-1].plan.mounts[0].read_only
    spec = {"image": "pytorch", "machine": "cpu-small", "disks": [{"disk": disk["id"], "mode": "rw"}]}
    asked = await bob.post("/plans", {"kind": "start", "name": "other", "spec": spec})
    assert refusal(asked) == (403, "disk_readonly", "disks")


async def test_a_disk_of_somebody_else_is_refused_everywhere(alice: Person, bob: Person) -> None:
    disk = await make(alice)
    await bob.start()
    assert refusal(await attach(bob, disk["id"])) == (404, "unknown_disk", "disk")
    spec = {"image": "pytorch", "machine": "cpu-small", "disks": [{"disk": disk["id"]}]}
    asked = await bob.post("/plans", {"kind": "start", "name": "other", "spec": spec})
    assert refusal(asked) == (403, "disk_not_yours", "disks")
    others = await send(bob, "POST", "/workspaces/alice/work/disks", {"disk": disk["id"]})
    assert others.status_code == 403
    for kind, body in (("delete_disk", {}), ("remove_member", {"user": "bob"})):
        refused = await bob.post("/plans", {"kind": kind, "disk": disk["id"], **body})
        assert refused.status_code == 404


async def test_C53_a_disk_is_named_by_id_or_name_and_never_by_a_path(alice: Person) -> None:
    await make(alice)
    await alice.start()
    for disk in ("team/../other", "%2e%2e%2fother", "d-1/x", "..", "home"):
        assert refusal(await attach(alice, disk)) == (404, "unknown_disk", "disk")


async def test_two_disks_of_one_name_have_two_links(control: Control, alice: Person, bob: Person) -> None:
    home = home_of(control, "alice")
    mine, theirs = await make(alice), await make(bob)
    await share(bob, "team", "alice")
    await alice.start()
    for disk in (mine, theirs):
        assert (await attach(alice, disk["id"])).status_code == 200
    await alice.stop()
    await alice.do("start", name="work")
    assert sorted(os.listdir(home / "disks")) == ["team", "team-bob"]
    assert (home / "disks" / "team").readlink().name == mine["id"]
    hints = {disk["id"]: disk["path_hint"] for disk in (await alice.get("/disks")).json()}
    assert hints[theirs["id"]] == "~/disks/team-bob"


async def test_detaching_is_for_the_next_start_and_may_be_said_twice(control: Control, alice: Person) -> None:
    home = home_of(control, "alice")
    disk = await make(alice)
    await alice.start(disks=[{"disk": disk["id"]}])
    for _ in range(2):
        answer = await send(alice, "DELETE", "/workspaces/alice/work/disks/team")
        assert answer.json()["mode"] is None
    assert (home / "disks" / "team").is_symlink()  # what runs keeps it
    await alice.stop()
    await alice.do("start", name="work")
    assert control.hub.trees[-1].plan.mounts == ()
    assert os.listdir(home / "disks") == []


async def test_what_the_person_put_in_the_links_place_stays_and_is_told(
    control: Control, alice: Person
) -> None:
    home = home_of(control, "alice")
    (home / "disks").mkdir()
    (home / "disks" / "team").write_text("mine")
    disk = await make(alice)
    assert (await alice.start(disks=[{"disk": disk["id"]}]))["state"] == "done"
    assert (home / "disks" / "team").read_text() == "mine"
    assert ("notice", {"code": "links_blocked", "folder": "disks", "names": ["team"]}) in told(control)


def told(control: Control) -> list[tuple[str, dict[str, Any]]]:
    from gearshift_hub.control.events import Audience

    return [(event.kind, event.data) for event in control.ctx.events.after(0, Audience(None))]


async def test_a_disk_in_use_is_not_deleted_and_a_free_one_goes_to_the_bin_and_back(
    control: Control, alice: Person
) -> None:
    disk = await make(alice)
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
    await make(alice)  # the name is free again
    assert refusal(await send(alice, "POST", f"/disks/{disk['id']}/restore")) == (409, "disk_exists", "name")
    await alice.do("delete_disk", disk="team")
    back = await send(alice, "POST", f"/disks/{disk['id']}/restore")
    assert back.json()["name"] == "team"
    assert (folder / "note").read_text() == "hello"


async def test_somebody_else_cannot_take_a_disk_out_of_the_bin(alice: Person, bob: Person) -> None:
    disk = await make(alice)
    await alice.do("delete_disk", disk="team")
    assert (await send(bob, "POST", f"/disks/{disk['id']}/restore")).status_code == 404


async def test_a_binned_disk_is_purged_after_seven_days_and_not_before(
    control: Control, alice: Person
) -> None:
    disk = await make(alice)
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
    disk = await make(alice)
    await share(alice, "team", "bob", "rw")
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
    await make(alice)
    await share(alice, "team", "bob")
    await share(alice, "team", "carol")
    others = await bob.post("/plans", {"kind": "remove_member", "disk": "team", "user": "carol"})
    assert refusal(others) == (403, "forbidden", "disk")
    assert (await bob.do("remove_member", disk="team", user="bob"))["state"] == "done"
    assert (await alice.get("/disks/team")).json()["members"] == [{"user": "carol", "mode": "ro"}]
    assert len((await carol.get("/disks")).json()) == 2


async def test_removal_survives_a_kill_between_its_steps(
    control: Control, alice: Person, bob: Person
) -> None:
    disk = await make(alice)
    await share(alice, "team", "bob")
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
    disk = await make(alice, quota_bytes=1_000_000)
    await share(alice, "team", "bob")
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
    disk = await make(alice, quota_bytes=1_000_000)
    await share(alice, "team", "bob")
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
    disk = await make(alice)
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
    mine, shared = await make(alice), await make(bob, "group")
    await share(bob, "group", "alice")
    for forget in control.ctx.hooks.account_deleted:
        await forget("alice")
    assert (control.ctx.home.disks / ".bin" / mine["id"]).is_dir()
    assert (await bob.get(f"/disks/{shared['id']}")).json()["members"] == []


async def test_code_in_a_workspace_may_make_and_attach_but_not_delete_by_itself(
    control: Control, alice: Person
) -> None:
    await alice.start()
    inside = control.workspace_token("alice", "work")
    disk = await make(inside)
    assert (await attach(inside, disk["id"])).status_code == 200
    plan = await inside.plan("delete_disk", disk=disk["id"])
    assert refusal(await inside.confirm(plan))[:2] == (403, "needs_confirmation")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="uids of other people need root")
async def test_with_real_uids_sharing_and_removal_hold_on_the_files(database_url: str) -> None:
    control = Control(database_url, able=Able(uid_per_person=True))
    try:
        plug(control.ctx)
        control.ctx.home.root.chmod(0o711)
        alice, bob = await control.add_person("alice"), await control.add_person("bob")
        disk = await make(alice)
        path = control.ctx.home.disks / disk["id"]
        mine, theirs, other = path.stat().st_uid, path.stat().st_uid + 1, path.stat().st_uid + 7
        assert may(mine, f"umask 077; mkdir {path}/sub; echo hello > {path}/sub/f; chmod 600 {path}/sub/f")
        assert not may(theirs, f"cat {path}/sub/f")
        await share(alice, "team", "bob")
        assert may(theirs, f"cat {path}/sub/f")
        assert not may(theirs, f"echo x >> {path}/sub/f")
        assert not may(other, f"cat {path}/sub/f")
        await share(alice, "team", "bob", "rw")
        assert may(theirs, f"echo x >> {path}/sub/f; echo mine > {path}/sub/g")
        await share(alice, "team", "bob", "ro")
        assert not may(theirs, f"echo x >> {path}/sub/g")
        await alice.do("remove_member", disk="team", user="bob")
        assert not may(theirs, f"cat {path}/sub/f")
        assert may(mine, f"cat {path}/sub/g")
        assert disk_access.gate(control.ctx).can_share
        assert bob.name == "bob"
    finally:
        shutil.rmtree(control.ctx.home.disks, ignore_errors=True)
        await control.close()


def may(uid: int, command: str) -> bool:
    done = subprocess.run(
        ["sh", "-c", command], check=False, user=uid, group=uid, extra_groups=[], cwd="/", capture_output=True
    )
    return done.returncode == 0
