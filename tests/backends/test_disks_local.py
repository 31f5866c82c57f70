"""Disks as folders with entries per uid: what members, strangers and former members can do, as root with real uids."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gearshift.model.errors import GearshiftError
from gearshift_hub.backends.local import acl
from gearshift_hub.backends.local.disks import Holders, LocalDisks, used_bytes
from gearshift_hub.backends.local.tree_walk import DEEPEST, walk

MEI, LI, EVE = 26101, 26102, 26103
PEOPLE = range(26100, 26200)
ALONE = Holders(MEI, {})

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="uids of other people need root")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other uids may enter."""
    made = Path(tempfile.mkdtemp(prefix="gearshift-test-", dir="/var/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def disks(folder: Path) -> LocalDisks:
    return LocalDisks(folder, PEOPLE)


def sh(uid: int, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command],
        check=False,
        user=uid,
        group=uid,
        extra_groups=[],
        capture_output=True,
        text=True,
        cwd="/",
    )


def may(uid: int, command: str) -> bool:
    return sh(uid, command).returncode == 0


pytestmark = [pytest.mark.root, root_only]


def test_a_disk_belongs_to_its_owner_and_a_stranger_sees_nothing(disks: LocalDisks) -> None:
    path = disks.create("d-1", ALONE)
    assert may(MEI, f"echo hello > {path}/note")
    assert path.stat().st_uid == MEI
    assert not may(EVE, f"cat {path}/note")
    assert not may(EVE, f"ls {path}")
    assert not may(EVE, f"ls {disks.folder}")


def test_making_a_disk_again_changes_nothing(disks: LocalDisks) -> None:
    path = disks.create("d-1", ALONE)
    assert may(MEI, f"echo hello > {path}/note")
    assert disks.create("d-1", ALONE) == path
    assert (path / "note").read_text() == "hello\n"


def test_a_read_only_member_reads_and_cannot_write_and_a_stranger_cannot_read(disks: LocalDisks) -> None:
    path = disks.create("d-1", ALONE)
    assert may(MEI, f"umask 077; mkdir {path}/sub; echo hello > {path}/sub/note")
    shared = Holders(MEI, {LI: "ro"})
    disks.admit("d-1", shared)
    disks.tend("d-1", shared)
    assert sh(LI, f"cat {path}/sub/note").stdout == "hello\n"
    assert not may(LI, f"echo more >> {path}/sub/note")
    assert not may(LI, f"touch {path}/new")
    assert not may(LI, f"rm -f {path}/sub/note")
    assert not may(LI, f"chmod 777 {path}/sub/note")
    assert not may(EVE, f"cat {path}/sub/note")


def test_a_writing_member_works_with_the_owners_files_and_the_owner_with_theirs(disks: LocalDisks) -> None:
    shared = Holders(MEI, {LI: "rw"})
    path = disks.create("d-1", shared)
    assert may(MEI, f"umask 077; mkdir {path}/a; echo one > {path}/a/mei")
    assert may(LI, f"umask 077; echo two >> {path}/a/mei; echo three > {path}/a/li; mkdir {path}/b")
    assert may(MEI, f"echo four >> {path}/a/li; touch {path}/b/x")
    assert (path / "a" / "mei").read_text() == "one\ntwo\n"
    assert not may(EVE, f"cat {path}/a/li")


def test_what_a_save_by_rename_or_a_private_folder_took_away_is_given_back(disks: LocalDisks) -> None:
    shared = Holders(MEI, {LI: "rw"})
    path = disks.create("d-1", shared)
    save = (
        f"umask 077; cd {path}; python3 -c \"import os; os.close(os.open('t',os.O_CREAT|os.O_WRONLY,0o600))\""
    )
    assert may(
        MEI, f"{save}; echo saved > t; mv t note; mkdir -m 0700 private; echo in > private/f; chmod 600 note"
    )
    assert not may(LI, f"cat {path}/note")
    assert disks.tend("d-1", shared).repaired >= 2
    assert sh(LI, f"cat {path}/note {path}/private/f").stdout == "saved\nin\n"
    assert may(LI, f"echo more >> {path}/note")
    assert not may(EVE, f"cat {path}/note")
    assert disks.tend("d-1", shared).repaired == 0


def test_an_executable_stays_executable_and_a_plain_file_does_not_become_one(disks: LocalDisks) -> None:
    shared = Holders(MEI, {LI: "ro"})
    path = disks.create("d-1", shared)
    assert may(
        MEI,
        f"cd {path}; printf '#!/bin/sh\\necho ran\\n' > run; cp run plain; chmod 700 run; chmod 600 plain",
    )
    disks.tend("d-1", shared)
    assert sh(LI, f"{path}/run").stdout == "ran\n"
    assert not may(LI, f"{path}/plain")


def test_a_removal_takes_effect_at_once_at_the_root(disks: LocalDisks) -> None:
    shared = Holders(MEI, {LI: "rw"})
    path = disks.create("d-1", shared)
    assert may(LI, f"mkdir {path}/sub; echo mine > {path}/sub/f")
    disks.admit("d-1", ALONE)
    for attempt in (f"cat {path}/sub/f", f"ls {path}", f"cd {path}", f"touch {path}/sub/new"):
        assert not may(LI, attempt)
    assert sh(MEI, f"cat {path}/sub/f").stdout == "mine\n"


def test_somebody_inside_while_removed_can_open_nothing_new_after_the_sweep(disks: LocalDisks) -> None:
    shared = Holders(MEI, {LI: "rw"})
    path = disks.create("d-1", shared)
    assert may(MEI, f"mkdir {path}/sub; echo hello > {path}/sub/f; mkdir {path}/sub/deep")
    inside = subprocess.Popen(
        ["sh", "-c", "read go; cat f; echo x > new; ls deep"],
        user=LI, group=LI, extra_groups=[], cwd=path / "sub", text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    disks.admit("d-1", ALONE)
    disks.tend("d-1", ALONE)
    said, complaint = inside.communicate("go\n", timeout=60)
    assert said == ""
    assert complaint.lower().count("denied") == 3
    assert not (path / "sub" / "new").exists()


def test_made_read_only_a_member_can_no_longer_write_even_files_made_before(disks: LocalDisks) -> None:
    path = disks.create("d-1", Holders(MEI, {LI: "rw"}))
    assert may(LI, f"umask 077; echo mine > {path}/f")
    less = Holders(MEI, {LI: "ro"})
    disks.admit("d-1", less)
    disks.tend("d-1", less)
    assert sh(LI, f"cat {path}/f").stdout == "mine\n"
    assert not may(LI, f"echo more >> {path}/f")
    assert not may(LI, f"chmod 666 {path}/f")
    assert may(MEI, f"echo more >> {path}/f")


def test_the_sweep_follows_no_link_and_leaves_system_files_alone(disks: LocalDisks, folder: Path) -> None:
    outside = folder / "outside"
    outside.write_text("root's")
    outside.chmod(0o600)
    path = disks.create("d-1", Holders(MEI, {LI: "rw"}))
    os.link(outside, path / "hard")
    assert may(LI, f"ln -s {outside} {path}/soft; ln -s {folder} {path}/folder; mkfifo {path}/pipe")
    disks.tend("d-1", Holders(MEI, {LI: "rw"}))
    assert outside.stat().st_uid == 0
    assert stat.S_IMODE(outside.stat().st_mode) == 0o600
    assert acl.get(str(outside), acl.ACCESS) == b""


def test_a_disk_in_the_bin_is_out_of_reach_and_comes_back_whole(disks: LocalDisks) -> None:
    path = disks.create("d-1", ALONE)
    assert may(MEI, f"echo hello > {path}/note")
    disks.bin("d-1")
    disks.bin("d-1")
    assert not may(MEI, f"cat {disks.folder}/.bin/d-1/note")
    assert not path.exists()
    disks.take_back("d-1")
    assert sh(MEI, f"cat {path}/note").stdout == "hello\n"
    disks.bin("d-1")
    disks.purge("d-1")
    disks.purge("d-1")
    assert list((disks.folder / ".bin").iterdir()) == []


def test_usage_counts_blocks_and_an_inode_once(disks: LocalDisks) -> None:
    path = disks.create("d-1", ALONE)
    assert may(
        MEI, f"cd {path}; head -c 1000000 /dev/zero > a; ln a b; truncate -s 50M sparse; ln -s /usr link"
    )
    taken = disks.tend("d-1", ALONE).used_bytes
    assert 1_000_000 <= taken <= 1_050_000
    assert used_bytes(path) == taken


def test_a_folder_nested_without_end_does_not_stop_the_walk(disks: LocalDisks) -> None:
    path = disks.create("d-1", ALONE)
    depth = DEEPEST + 50
    script = f"import os\nos.chdir({str(path)!r})\nfor n in range({depth}): os.mkdir('d'); os.chdir('d')"
    assert may(MEI, f'python3 -c "{script}"')
    seen = disks.tend("d-1", ALONE)
    assert seen.too_deep == 1
    assert seen.entries == DEEPEST
    disks.bin("d-1")
    disks.purge("d-1")


def test_entries_that_vanish_during_the_walk_are_passed_over(disks: LocalDisks) -> None:
    path = disks.create("d-1", ALONE)
    for name in ("a", "b", "c"):
        (path / name).mkdir()
        (path / name / "f").touch()
    for _ in walk(path):
        shutil.rmtree(path / "b", ignore_errors=True)
        shutil.rmtree(path / "c", ignore_errors=True)


@pytest.mark.parametrize("bad", ["../x", "a/b", "", ".bin", "d-1\0", "测试"])
def test_a_disk_id_that_is_no_plain_name_is_refused(disks: LocalDisks, bad: str) -> None:
    with pytest.raises(GearshiftError, match="not a path"):
        disks.path(bad)


def test_this_file_system_keeps_entries(folder: Path) -> None:
    assert acl.supported(str(folder))
    assert acl.get(str(folder), acl.DEFAULT) == b""


def test_without_root_a_disk_is_a_plain_folder(folder: Path) -> None:
    plain = LocalDisks(folder, None)
    path = plain.create("d-1", Holders(os.geteuid(), {}))
    plain.admit("d-1", Holders(os.geteuid(), {EVE: "rw"}))
    assert acl.get(str(path), acl.ACCESS) == b""
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
