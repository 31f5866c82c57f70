"""Hard links out of a shared disk: a former member must not keep, or get back, a file through a disk of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gearshift_hub.backends.local.disks import Holders, LocalDisks

MEI, EVE, LI = 26201, 26202, 26203
ALONE, WITH_EVE, EVES = Holders(MEI, {}), Holders(MEI, {EVE: "rw"}), Holders(EVE, {LI: "ro"})

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="uids of other people need root"),
]


@pytest.fixture
def disks() -> Iterator[LocalDisks]:
    folder = Path(tempfile.mkdtemp(prefix="gearshift-test-", dir="/var/tmp"))
    folder.chmod(0o711)
    yield LocalDisks(folder, range(26200, 26300))
    shutil.rmtree(folder)


def may(uid: int, command: str) -> bool:
    ran = subprocess.run(
        ["sh", "-c", command], check=False, user=uid, group=uid, extra_groups=[], cwd="/", capture_output=True
    )
    return ran.returncode == 0


@pytest.mark.parametrize("maker", [MEI, EVE])
def test_a_former_member_sees_no_change_through_a_name_in_their_own_disk(
    disks: LocalDisks, maker: int
) -> None:
    team, own = disks.create("d-team", WITH_EVE), disks.create("d-eve", EVES)
    assert may(maker, f"echo plan > {team}/plan")
    disks.tend("d-team", WITH_EVE)
    assert may(EVE, f"ln {team}/plan {own}/plan")
    disks.tend("d-eve", EVES)
    disks.tend("d-team", WITH_EVE)
    disks.admit("d-team", ALONE)
    disks.tend("d-team", ALONE)
    assert may(MEI, f"echo secret >> {team}/plan")
    for _ in range(2):
        disks.tend("d-eve", EVES)
        disks.tend("d-team", ALONE)
    for uid in (EVE, LI):
        assert not may(uid, f"grep secret {own}/plan")
    assert may(MEI, f"grep secret {team}/plan")
    assert (team / "plan").stat().st_uid == MEI


def test_the_owner_of_a_linked_file_keeps_it_whoever_sweeps(disks: LocalDisks) -> None:
    team, own = disks.create("d-team", WITH_EVE), disks.create("d-eve", EVES)
    assert may(MEI, f"echo plan > {team}/plan; chmod 755 {team}/plan")
    disks.tend("d-team", WITH_EVE)
    disks.admit("d-team", ALONE)
    disks.tend("d-team", ALONE)
    os.link(team / "plan", own / "plan")
    disks.tend("d-eve", EVES)
    assert (team / "plan").stat().st_uid == MEI
    assert not may(EVE, f"cat {own}/plan")


def test_links_that_stay_inside_a_disk_are_tended_like_any_file(disks: LocalDisks) -> None:
    team = disks.create("d-team", WITH_EVE)
    assert may(EVE, f"umask 077; echo x > {team}/a; mkdir {team}/deep; ln {team}/a {team}/deep/b")
    disks.admit("d-team", ALONE)
    disks.tend("d-team", ALONE)
    assert (team / "a").stat().st_uid == MEI
    assert may(MEI, f"cat {team}/deep/b")
