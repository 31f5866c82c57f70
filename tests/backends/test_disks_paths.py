"""Paths below a root: what climbs, hides or is swapped gives nothing; what is legitimate is read (case C53)."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from gearshift.model.errors import GearshiftError
from gearshift_hub.backends.local.paths_within import is_within, open_within, parts_of, resolve_within
from hypothesis import given
from hypothesis import strategies as st

SECRET = b"not yours"


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A disk `team` beside a disk `team-private`, with links that lead out and links that stay inside."""
    private = tmp_path / "team-private"
    private.mkdir()
    (private / "f").write_bytes(SECRET)
    root = tmp_path / "team"
    (root / "a..b").mkdir(parents=True)
    (root / "a..b" / "f").write_bytes(b"mine")
    (root / "out").symlink_to(private)
    (root / "out-relative").symlink_to("../team-private/f")
    (root / "in").symlink_to("a..b")
    (root / "in-absolute").symlink_to(root / "a..b" / "f")
    (root / "in-and-back").symlink_to("a..b/../a..b/f")
    (root / "loop").symlink_to("loop")
    return root


def read(root: Path, requested: str) -> bytes:
    with open_within(root, requested) as descriptor:
        return os.read(descriptor, 100)


OUTSIDE = [
    "../team-private/f",
    "a..b/../../team-private/f",
    "%2e%2e%2fteam-private/f",
    "%2e%2e/team-private/f",
    "a..b/%2E%2E/%2e%2e/team-private/f",
    "..%2fteam-private%2ff",
    "/etc/passwd",
    "//etc/passwd",
    "out/f",
    "out-relative",
    "a..b/f\0.txt",
    "..\\team-private\\f",
    "..",
]


@pytest.mark.parametrize("requested", OUTSIDE)
def test_C53_a_path_that_leads_outside_gives_404_and_no_byte(team: Path, requested: str) -> None:
    for ask in (resolve_within, read):
        with pytest.raises(GearshiftError) as refused:
            ask(team, requested)
        assert (refused.value.code, refused.value.status) == ("bad_path", 404)


@pytest.mark.parametrize("requested", ["a..b/f", "in/f", "in-absolute", "in-and-back", "./a..b//f"])
def test_C53_a_legitimate_path_and_links_that_stay_inside_are_read(team: Path, requested: str) -> None:
    assert read(team, requested) == b"mine"
    assert resolve_within(team, requested) == (team / "a..b" / "f").resolve()


def test_C53_a_sibling_whose_name_begins_alike_is_not_within(team: Path) -> None:
    assert not is_within(team, team.with_name("team-private"))
    with pytest.raises(OSError, match="No such file"):
        read(team, "team-private/f")


def test_C53_the_top_folder_works_as_a_root(team: Path) -> None:
    asked = str(team / "a..b" / "f")[1:]
    assert read(Path("/"), asked) == b"mine"
    assert resolve_within(Path("/"), asked) == team / "a..b" / "f"
    assert is_within(Path("/"), Path("/etc"))


def test_a_link_that_leads_to_itself_is_an_error_and_not_a_hang(team: Path) -> None:
    with pytest.raises(OSError, match="symbolic links"):
        read(team, "loop")


def test_a_root_that_is_itself_a_link_is_resolved_first(team: Path) -> None:
    alias = team.with_name("alias")
    alias.symlink_to(team)
    assert read(alias, "in-absolute") == b"mine"


def test_C53_a_link_swapped_between_check_and_use_never_gives_a_byte(team: Path) -> None:
    """One thread swaps a folder for a link to the neighbour while the other reads through it."""
    real, aside = team / "swap", team / ".aside"
    real.mkdir()
    (real / "f").write_bytes(b"mine")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            real.rename(aside)
            real.symlink_to(team.with_name("team-private"))
            real.unlink()
            aside.rename(real)
            over.wait(0.0002)  # so that the reader meets both

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        answers = {outcome(lambda: read(team, "swap/f")) for _ in range(2000)}
        while b"mine" not in answers:
            answers.add(outcome(lambda: read(team, "swap/f")))
    finally:
        over.set()
        swapper.join()
    assert answers <= {b"mine", "refused"}


def outcome(ask: Callable[[], bytes]) -> bytes | str:
    try:
        return ask()
    except (GearshiftError, OSError):
        return "refused"


NAMES = st.text(st.characters(exclude_characters="/\0\\%", codec="utf-8"), min_size=1, max_size=12)


@given(st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=6))
def test_plain_names_come_back_as_they_were(names: list[str]) -> None:
    assert parts_of("/".join(names)) == tuple(names)


@given(st.lists(st.sampled_from(["a", "..", ".", "%2e%2e", "%2f", "b%00"]), max_size=6))
def test_no_accepted_name_climbs_even_when_decoded(names: list[str]) -> None:
    requested = "/".join(names)
    try:
        accepted = parts_of(requested)
    except GearshiftError:
        assert set(names) - {"a", "."}
        return
    assert set(accepted) <= {"a"}
