"""What may be loaded of what lies in a state folder: nothing that was changed, moved, linked, or is another person's."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gearshift.kernel import Kernel
from gearshift.lab import kept, manifest
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.manifest import Manifest, SavedKernel
from gearshift.model.errors import GearshiftError
from gearshift.state import save
from gearshift_testing.lab_server import STATE_KEY, TOKEN, LabServer
from gearshift_testing.saved_states import KERNEL, OTHERS_KEY, flip, of, saved


async def refusal(own: LabEnvironment, state: str = "op-1") -> str:
    """Why all of it is refused; its code is always the same."""
    with pytest.raises(GearshiftError) as caught:
        await kept.verify(own, state)
    assert caught.value.code == "state_refused"
    assert "Nothing of it was used" in caught.value.message
    return caught.value.message


async def test_what_was_saved_is_trusted(tmp_path: Path) -> None:
    own = of(tmp_path)
    saved(own)
    assert (await kept.verify(own, "op-1")).kernels[0].id == "k-1"


def in_the_list(folder: Path, old: str, new: str) -> None:
    path = folder / "manifest.json"
    outer = json.loads(path.read_text())
    path.write_text(json.dumps({**outer, "body": outer["body"].replace(old, new)}))


def link_to_elsewhere(folder: Path) -> None:
    """As onto a shared disk."""
    elsewhere = folder.parent / "shared"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


def link_the_file(folder: Path) -> None:
    elsewhere = folder.parent / "elsewhere.gsk"
    (folder / KERNEL).rename(elsewhere)
    (folder / KERNEL).symlink_to(elsewhere)


def link_the_list(folder: Path) -> None:
    elsewhere = folder.parent / "elsewhere.json"
    (folder / "manifest.json").rename(elsewhere)
    (folder / "manifest.json").symlink_to(elsewhere)


def another_save_of_mine(folder: Path) -> None:
    """Signed with the right key, but not the file that was listed."""
    (folder / KERNEL).unlink()
    save({"v": "another"}, folder / KERNEL, bytes.fromhex(STATE_KEY))


def shorten(name: str) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size - 1)


TAMPERED: dict[str, Callable[[Path], object]] = {
    "a name in the list": lambda folder: in_the_list(folder, "python3", "evil"),
    "the owner in the list": lambda folder: in_the_list(folder, '"mei"', '"eve"'),
    "the list cut short": shorten("manifest.json"),
    "the list empty": lambda folder: (folder / "manifest.json").write_text(""),
    "the list a link": link_the_list,
    "a byte of the header": lambda folder: flip(folder / KERNEL, 40),
    "a byte of the data": lambda folder: flip(folder / KERNEL, 4096 + 7),
    "the last byte": lambda folder: flip(folder / KERNEL, -1),
    "the file cut short": shorten(KERNEL),
    "the file empty": lambda folder: os.truncate(folder / KERNEL, 0),
    "the file gone": lambda folder: (folder / KERNEL).unlink(),
    "the file a link": link_the_file,
    "the file another of mine": another_save_of_mine,
    "the file open to others": lambda folder: (folder / KERNEL).chmod(0o666),
    "the folder a link": link_to_elsewhere,
    "the folder open to others": lambda folder: folder.chmod(0o777),
}


@pytest.mark.parametrize("part", TAMPERED)
async def test_a_state_that_was_tampered_with_is_refused(part: str, tmp_path: Path) -> None:
    own = of(tmp_path)
    TAMPERED[part](saved(own))
    await refusal(own)


async def test_a_state_under_another_name_is_refused(tmp_path: Path) -> None:
    own = of(tmp_path)
    saved(own).rename(tmp_path / "op-2")
    assert "under another name" in await refusal(own, "op-2")


async def test_the_state_of_another_workspace_of_mine_is_refused(tmp_path: Path) -> None:
    own = of(tmp_path)
    saved(own)
    assert "another workspace" in await refusal(replace(own, workspace="other"))


@pytest.mark.parametrize("renamed", [False, True])
async def test_another_persons_state_is_refused_also_with_my_name_in_it(
    tmp_path: Path, renamed: bool
) -> None:
    (tmp_path / "eve").mkdir()
    (tmp_path / "mei").mkdir()
    eve = of(tmp_path / "eve", "eve", key=OTHERS_KEY)
    folder = saved(eve)
    if renamed:
        kernel = SavedKernel("k-1", "python3", KERNEL, kept.seal(folder / KERNEL))
        manifest.write(folder, Manifest("op-1", (kernel,), (), "mei", "vlm"), eve.state_key)
    shutil.copytree(folder, tmp_path / "mei" / "op-1")
    assert "signed by somebody else" in await refusal(of(tmp_path / "mei"))


async def test_a_list_of_mine_with_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    own = of(tmp_path)
    folder = saved(own)
    (folder / KERNEL).unlink()
    save({"v": "evil"}, folder / KERNEL, bytes.fromhex(OTHERS_KEY))
    assert "not the file that was saved" in await refusal(own)


def test_a_snapshot_comes_back_into_running_kernels_and_a_damaged_one_touches_nothing(
    lab: LabServer,
) -> None:
    kernel = Kernel(lab.url, TOKEN, "kept.ipynb")
    try:
        kernel.run("kept_a = 1\nkept_b = [2]")
        lab.http.post("gearshift/state/save", json={"operation": "op-kept"}).raise_for_status()
        kernel.run("kept_a = 'spoiled'\nother = 3\ndel kept_b")
        body = {"operation": "op-back", "state": "op-kept", "check": True}
        report = lab.http.post("gearshift/state/restore", json=body)
        assert report.status_code == 200, report.text
        assert kernel.run("print(kept_a, kept_b, other)").text == "1 [2] 3\n"
        kernel.run("kept_a = 'spoiled'")
        (file,) = (lab.state_dir / "op-kept").glob(f"kernel-{kernel.kernel_id}.gsk")
        flip(file, 4096 + 7)
        refused = lab.http.post("gearshift/state/restore", json={**body, "operation": "op-back-2"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "state_refused")
        assert kernel.run("print(kept_a)").text == "spoiled\n"
    finally:
        kernel.close()
        lab.http.delete(f"api/kernels/{kernel.kernel_id}")


def test_a_save_that_is_partial_keeps_what_can_be_kept(lab: LabServer) -> None:
    kernel = Kernel(lab.url, TOKEN, "partly.ipynb")
    try:
        kernel.run("partly = 1")
        in_the_way = lab.state_dir / "op-partly" / f"kernel-{kernel.kernel_id}.gsk"
        in_the_way.mkdir(parents=True)
        body = {"operation": "op-partly", "leave_out": []}
        whole = lab.http.post("gearshift/state/save", json=body)
        assert (whole.status_code, whole.json()["error"]["code"]) == (502, "save_failed")
        in_the_way.mkdir(parents=True)
        partly = lab.http.post("gearshift/state/save", json={**body, "partly": True})
        assert (partly.status_code, partly.json()["ok"]) == (200, False)
        assert (lab.state_dir / "op-partly" / "manifest.json").is_file()
    finally:
        kernel.close()
        lab.http.delete(f"api/kernels/{kernel.kernel_id}")
