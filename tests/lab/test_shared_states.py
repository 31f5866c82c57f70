"""A kept state on a shared disk: it comes in with its owner's consent to that very state only, and only for its owner."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from gearshift.lab import kept, shared_states
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.shared_states import Consent
from gearshift.model.errors import GearshiftError
from gearshift.state import load
from gearshift_testing.lab_server import TOKEN, LabServer
from gearshift_testing.saved_states import KERNEL, OTHERS_KEY, flip, of, saved

NOW = datetime(2026, 12, 1, 4, 0, tzinfo=UTC)
FOLDER = Path("disks/lab/kernel-states/op-1")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Of mei, who copied a state of her workspace onto a disk that is shared."""
    (tmp_path / "the-disk").mkdir()
    (tmp_path / "home/disks").mkdir(parents=True)
    (tmp_path / "home/disks/lab").symlink_to(tmp_path / "the-disk")
    own = mei(tmp_path / "home")
    saved(own)
    shared_states.copy_out(own, tmp_path / "home", "op-1", "lab")
    return tmp_path / "home"


def mei(home: Path, workspace: str = "vlm") -> LabEnvironment:
    folder = home.parent / f"state-{workspace}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return of(folder, workspace=workspace)


def agreed(own: LabEnvironment, home: Path) -> Consent:
    """To what lies there now."""
    digest = shared_states.look_at(own, home, "lab", "op-1").digest
    return Consent("mei", digest, NOW + timedelta(minutes=2))


def bring_in(own: LabEnvironment, home: Path, consent: Consent, now: datetime = NOW) -> dict[str, object]:
    return shared_states.bring_in(own, home, "op-9", "lab", "op-1", consent, now)


def refusal(own: LabEnvironment, home: Path, consent: Consent, now: datetime = NOW) -> str:
    """Why; and of what is refused nothing is left."""
    with pytest.raises(GearshiftError) as caught:
        bring_in(own, home, consent, now)
    assert caught.value.code == "state_refused"
    assert not (own.state_dir / "op-9").exists()
    return caught.value.message


async def test_it_comes_in_as_a_kept_state_of_the_workspace_that_asked(home: Path) -> None:
    other = mei(home, "another")
    report = bring_in(other, home, agreed(other, home))
    assert [one["name"] for one in report["kernels"][0]["variables"]] == ["v"]  # type: ignore[index]
    listed = await kept.verify(other, "op-9")
    assert (listed.workspace, listed.sessions[0].path) == ("another", "a.ipynb")
    names: dict[str, object] = {}
    load(other.state_dir / "op-9" / KERNEL, names, other.state_key)
    assert names["v"] == list(range(100))


def test_it_is_listed_for_its_owner_and_for_nobody_else(home: Path) -> None:
    assert [one["state"] for one in shared_states.on_disks(mei(home), home)] == ["op-1"]
    eve = of(home.parent / "state-vlm", owner="eve", key=OTHERS_KEY)
    assert shared_states.on_disks(eve, home) == []


def test_another_person_cannot_load_it_whatever_they_agree_to(home: Path) -> None:
    eve = of(home.parent / "state-vlm", owner="eve", key=OTHERS_KEY)
    consent = replace(agreed(mei(home), home), user="eve")
    assert "signed by somebody else" in refusal(eve, home, consent)
    assert "only its owner" in refusal(mei(home), home, consent)


def test_consent_is_for_one_state_as_it_was_shown_and_ends(home: Path) -> None:
    own = mei(home)
    consent = agreed(own, home)
    assert "not what you agreed to" in refusal(own, home, replace(consent, digest="0" * 64))
    assert "is over" in refusal(own, home, consent, NOW + timedelta(minutes=2))
    saved(own, "op-2")
    shutil.rmtree(home / FOLDER)
    shared_states.copy_out(own, home, "op-2", "lab")
    (home / "disks/lab/kernel-states/op-2").rename(home / FOLDER)
    assert "not what you agreed to" in refusal(own, home, consent), "another state of hers in its place"


def link(name: str) -> Callable[[Path], None]:
    def put(folder: Path) -> None:
        (folder / name).rename(folder.parent / "elsewhere")
        (folder / name).symlink_to(folder.parent / "elsewhere")

    return put


def link_the_folder(folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")


def grow(folder: Path) -> None:
    with (folder / KERNEL).open("ab") as file:
        file.write(b"x")


def pipe(folder: Path) -> None:
    (folder / KERNEL).unlink()
    os.mkfifo(folder / KERNEL)


CHANGED: dict[str, Callable[[Path], object]] = {
    "a byte of the list": lambda folder: flip(folder / "manifest.json", 20),
    "the list without end": lambda folder: (folder / "manifest.json").write_text("[" * 100_000),
    "the list gone": lambda folder: (folder / "manifest.json").unlink(),
    "the list a link": link("manifest.json"),
    "a byte of the header": lambda folder: flip(folder / KERNEL, 40),
    "a byte of the data": lambda folder: flip(folder / KERNEL, 4096 + 7),
    "the last byte": lambda folder: flip(folder / KERNEL, -1),
    "the file longer": grow,
    "the file cut short": lambda folder: os.truncate(folder / KERNEL, 100),
    "the file gone": lambda folder: (folder / KERNEL).unlink(),
    "the file a link": link(KERNEL),
    "the file a pipe": pipe,
    "the folder a link": link_the_folder,
    "the folder gone": shutil.rmtree,
}


@pytest.mark.parametrize("what", CHANGED)
def test_what_was_changed_on_the_disk_is_refused_and_nothing_of_it_stays(home: Path, what: str) -> None:
    own = mei(home)
    consent = agreed(own, home)
    CHANGED[what](home / FOLDER)
    refusal(own, home, consent)


def test_a_copy_writes_through_no_link_that_others_put_there(home: Path) -> None:
    own, precious = mei(home), home / "precious"
    saved(own, "op-2")
    shutil.rmtree(home / "disks/lab/kernel-states")
    precious.mkdir()
    (home / "disks/lab/kernel-states").symlink_to(precious)
    with pytest.raises(GearshiftError) as caught:
        shared_states.copy_out(own, home, "op-2", "lab")
    assert caught.value.code == "save_failed"
    assert list(precious.iterdir()) == []


def test_a_second_copy_is_refused_and_leaves_nothing_behind(home: Path) -> None:
    with pytest.raises(GearshiftError, match="it is there already"):
        shared_states.copy_out(mei(home), home, "op-1", "lab")
    assert [one.name for one in (home / "disks/lab/kernel-states").iterdir()] == ["op-1"]


def test_what_is_no_disk_of_theirs_is_unknown(home: Path) -> None:
    for disk in ("none", "../the-disk", ".", "", "a/b"):
        with pytest.raises(GearshiftError) as caught:
            shared_states.look_at(mei(home), home, disk, "op-1")
        assert caught.value.code == "unknown_disk"
    with pytest.raises(GearshiftError) as caught:
        shared_states.look_at(mei(home), home, "lab", "../op-1")
    assert caught.value.code == "bad_request"


def test_without_a_press_no_script_brings_one_in(lab: LabServer) -> None:
    """Its own token is what every kernel holds."""
    body = {"operation": "op-9", "disk": "lab", "state": "op-1"}
    consent = {"user": "mei", "digest": "0" * 64, "expires_at": "2999-01-01T00:00:00Z"}
    answer = lab.http.post("gearshift/state/shared/bring-in", json={**body, "consent": consent})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "needs_press")
    assert TOKEN not in answer.text
