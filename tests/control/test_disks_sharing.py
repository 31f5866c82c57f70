"""Disks through the public door: made, shared, attached, measured, taken away; each refusal names its field."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from gearshift_hub.backends.base import Able
from gearshift_hub.control.app import plug
from gearshift_hub.control.services import disk_access
from gearshift_testing.controls import Control, Person
from gearshift_testing.disk_calls import attach_disk, home_of, make_disk, refusal, send, share_disk, told

GB = 10**9


@pytest.fixture(autouse=True)
def plugged(control: Control) -> None:
    plug(control.ctx)


async def test_a_disk_is_made_with_its_folder_and_listed_after_the_home(
    control: Control, alice: Person
) -> None:
    disk = await make_disk(alice, quota_bytes=5 * GB)
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
    await make_disk(alice)
    assert refusal(await send(alice, "POST", "/disks", {"name": "team"})) == (409, "disk_exists", "name")
    assert refusal(await send(alice, "POST", "/disks", {"name": "home"})) == (409, "disk_exists", "name")
    await make_disk(bob)


async def test_a_size_that_cannot_be_is_refused(alice: Person) -> None:
    for quota, expected in (
        (0, (422, "bad_request")),
        (-1, (422, "bad_request")),
        (10**18, (413, "too_large")),
    ):
        answer = await send(alice, "POST", "/disks", {"name": "team", "quota_bytes": quota})
        assert refusal(answer) == (*expected, "quota_bytes")


async def test_a_shared_disk_is_seen_by_its_member_as_they_may_use_it(alice: Person, bob: Person) -> None:
    disk = await make_disk(alice)
    assert (await bob.get(f"/disks/{disk['id']}")).status_code == 404
    shared = await share_disk(alice, "team", "bob")
    assert shared["members"] == [{"user": "bob", "mode": "ro"}]
    seen = (await bob.get("/disks")).json()[1]
    assert (seen["id"], seen["owner"], seen["mode_for_me"]) == (disk["id"], "alice", "ro")
    await share_disk(alice, "team", "bob", "rw")
    assert (await bob.get("/disks")).json()[1]["mode_for_me"] == "rw"


async def test_only_the_owner_shares_and_only_with_people_there_are(alice: Person, bob: Person) -> None:
    disk = await make_disk(alice)
    await share_disk(alice, "team", "bob", "rw")
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
    disk = await make_disk(alice)
    home = home_of(control, "alice")
    await alice.start()
    answer = await attach_disk(alice, "team")
    assert answer.json() == {"disk": disk["id"], "mode": "rw", "takes_effect": "next_start"}
    assert await attach_disk(alice, "team") is not None  # again: the same
    assert (await alice.get("/disks/team")).json()["attached_to"] == []
    assert not (home / "disks").exists()
    assert control.hub.trees[-1].plan.mounts == ()
    await alice.stop()
    await alice.do("start", name="work")
    folder = str(control.ctx.home.disks / disk["id"])
    mounts = [mount.model_dump() for mount in control.hub.trees[-1].plan.mounts]
    assert mounts == [{"source": folder, "target": folder, "read_only": False}]
    assert (home / "disks" / "team").readlink() == Path(folder)
    assert (await alice.get("/disks/team")).json()["attached_to"] == ["alice/work"]
    await alice.stop()
    assert (await alice.get("/disks/team")).json()["attached_to"] == []


async def test_a_read_only_member_gets_it_read_only_and_not_more(
    control: Control, alice: Person, bob: Person
) -> None:
    disk = await make_disk(alice)
    await share_disk(alice, "team", "bob")
    await bob.start()
    assert refusal(await attach_disk(bob, "team", "rw")) == (403, "disk_readonly", "mode")
    assert (await attach_disk(bob, "team")).json()["mode"] == "ro"
    await bob.stop()
    await bob.do("start", name="work")
    assert control.hub.trees[-1].plan.mounts[0].read_only
    spec = {"image": "pytorch", "machine": "cpu-small", "disks": [{"disk": disk["id"], "mode": "rw"}]}
    asked = await bob.post("/plans", {"kind": "start", "name": "other", "spec": spec})
    assert refusal(asked) == (403, "disk_readonly", "disks")


async def test_a_disk_of_somebody_else_is_refused_everywhere(alice: Person, bob: Person) -> None:
    disk = await make_disk(alice)
    await bob.start()
    assert refusal(await attach_disk(bob, disk["id"])) == (404, "unknown_disk", "disk")
    spec = {"image": "pytorch", "machine": "cpu-small", "disks": [{"disk": disk["id"]}]}
    asked = await bob.post("/plans", {"kind": "start", "name": "other", "spec": spec})
    assert refusal(asked) == (403, "disk_not_yours", "disks")
    others = await send(bob, "POST", "/workspaces/alice/work/disks", {"disk": disk["id"]})
    assert others.status_code == 403
    for kind, body in (("delete_disk", {}), ("remove_member", {"user": "bob"})):
        refused = await bob.post("/plans", {"kind": kind, "disk": disk["id"], **body})
        assert refused.status_code == 404


async def test_C53_a_disk_is_named_by_id_or_name_and_never_by_a_path(alice: Person) -> None:
    await make_disk(alice)
    await alice.start()
    for disk in ("team/../other", "%2e%2e%2fother", "d-1/x", "..", "home"):
        assert refusal(await attach_disk(alice, disk)) == (404, "unknown_disk", "disk")


async def test_two_disks_of_one_name_have_two_links(control: Control, alice: Person, bob: Person) -> None:
    home = home_of(control, "alice")
    mine, theirs = await make_disk(alice), await make_disk(bob)
    await share_disk(bob, "team", "alice")
    await alice.start()
    for disk in (mine, theirs):
        assert (await attach_disk(alice, disk["id"])).status_code == 200
    await alice.stop()
    await alice.do("start", name="work")
    assert sorted(os.listdir(home / "disks")) == ["team", "team-bob"]
    assert (home / "disks" / "team").readlink().name == mine["id"]
    hints = {disk["id"]: disk["path_hint"] for disk in (await alice.get("/disks")).json()}
    assert hints[theirs["id"]] == "~/disks/team-bob"


async def test_detaching_is_for_the_next_start_and_may_be_said_twice(control: Control, alice: Person) -> None:
    home = home_of(control, "alice")
    disk = await make_disk(alice)
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
    disk = await make_disk(alice)
    assert (await alice.start(disks=[{"disk": disk["id"]}]))["state"] == "done"
    assert (home / "disks" / "team").read_text() == "mine"
    assert ("notice", {"code": "links_blocked", "folder": "disks", "names": ["team"]}) in told(control)


async def test_code_in_a_workspace_may_make_and_attach_but_not_delete_by_itself(
    control: Control, alice: Person
) -> None:
    await alice.start()
    inside = control.workspace_token("alice", "work")
    disk = await make_disk(inside)
    assert (await attach_disk(inside, disk["id"])).status_code == 200
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
        disk = await make_disk(alice)
        path = control.ctx.home.disks / disk["id"]
        mine, theirs, other = path.stat().st_uid, path.stat().st_uid + 1, path.stat().st_uid + 7
        assert may(mine, f"umask 077; mkdir {path}/sub; echo hello > {path}/sub/f; chmod 600 {path}/sub/f")
        assert not may(theirs, f"cat {path}/sub/f")
        await share_disk(alice, "team", "bob")
        assert may(theirs, f"cat {path}/sub/f")
        assert not may(theirs, f"echo x >> {path}/sub/f")
        assert not may(other, f"cat {path}/sub/f")
        await share_disk(alice, "team", "bob", "rw")
        assert may(theirs, f"echo x >> {path}/sub/f; echo mine > {path}/sub/g")
        await share_disk(alice, "team", "bob", "ro")
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
