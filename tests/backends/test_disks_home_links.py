"""Links in a home whose person plays tricks: nothing outside is touched, nothing of theirs is lost."""

import os
from pathlib import Path

import pytest
from gearshift_hub.backends.local.home_links import Placed, place

UID, GID = os.geteuid(), os.getegid()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name in ("d-1", "d-2"):
        (tmp_path / "store" / name).mkdir(parents=True)
    return tmp_path / "store"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def put(home: Path, store: Path, **wanted: str) -> Placed:
    return place(home, "disks", {name: store / disk for name, disk in wanted.items()}, store, UID, GID)


def test_links_appear_move_and_go_as_wanted(home: Path, store: Path) -> None:
    assert put(home, store, team="d-1").placed == ("team",)
    assert (home / "disks" / "team").readlink() == store / "d-1"
    put(home, store, team="d-2", other="d-1")
    assert (home / "disks" / "team").readlink() == store / "d-2"
    put(home, store, other="d-1")
    assert os.listdir(home / "disks") == ["other"]


def test_doing_it_again_touches_nothing(home: Path, store: Path) -> None:
    put(home, store, team="d-1")
    before = (home / "disks").stat().st_mtime_ns
    assert put(home, store, team="d-1") == Placed(("team",), ())
    assert (home / "disks").stat().st_mtime_ns == before


def test_files_and_links_of_the_person_stay_and_their_names_are_reported(home: Path, store: Path) -> None:
    mine = home / "disks"
    mine.mkdir()
    (mine / "team").write_text("mine")
    (mine / "elsewhere").symlink_to("/usr")
    assert put(home, store, team="d-1", other="d-2") == Placed(("other",), ("team",))
    assert (mine / "team").read_text() == "mine"
    assert (mine / "elsewhere").readlink() == Path("/usr")


def test_a_planted_link_in_place_of_the_folder_is_never_followed(
    home: Path, store: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (home / "disks").symlink_to(victim)
    assert put(home, store, team="d-1") == Placed((), ("team",))
    assert os.listdir(victim) == []


def test_a_file_in_place_of_the_folder_blocks_and_stays(home: Path, store: Path) -> None:
    (home / "disks").write_text("mine")
    assert put(home, store, team="d-1").blocked == ("team",)
    assert (home / "disks").read_text() == "mine"


def test_a_home_that_is_a_link_is_refused(home: Path, store: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(home)
    assert put(alias, store, team="d-1").blocked == ("team",)
    assert os.listdir(home) == []


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another uid needs root")
def test_a_folder_we_make_belongs_to_the_person_and_one_they_made_is_left_as_it_is(
    home: Path, store: Path
) -> None:
    place(home, "disks", {"team": store / "d-1"}, store, 26101, 26101)
    assert (home / "disks").stat().st_uid == 26101
    (home / "datasets").mkdir()
    place(home, "datasets", {"team": store / "d-1"}, store, 26101, 26101)
    assert (home / "datasets").stat().st_uid == 0
