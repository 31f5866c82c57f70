"""Bundles of jobs: what nobody needs goes by age and then oldest first, and what a job in line needs stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gearshift.model.errors import GearshiftError
from gearshift_hub.backends.local.bundles import Bundles


@pytest.fixture
def bundles(tmp_path: Path) -> Bundles:
    return Bundles(tmp_path)


def sent(bundles: Bundles, data: bytes, at: float, owner: str = "alice") -> str:
    sha256 = bundles.save(owner, data)
    os.utime(bundles.path(owner, sha256), (at, at))
    return sha256


def kept(bundles: Bundles, *every: str) -> list[bool]:
    return [bundles.size("alice", sha256) is not None for sha256 in every]


def test_the_oldest_go_first_until_what_comes_fits(bundles: Bundles) -> None:
    every = [sent(bundles, bytes([number]) * 10, 100.0 + number) for number in range(4)]
    bundles.make_room("alice", (), sent_before=0, limit=35, coming=10)
    assert kept(bundles, *every) == [False, False, True, True]


def test_what_a_job_in_line_needs_stays_and_where_it_leaves_no_room_the_new_one_is_refused(
    bundles: Bundles,
) -> None:
    first, second = sent(bundles, b"a" * 20, 1), sent(bundles, b"b" * 20, 2)
    bundles.make_room("alice", {first}, sent_before=50, limit=40, coming=20)
    assert kept(bundles, first, second) == [True, False]
    with pytest.raises(GearshiftError) as refused:
        bundles.make_room("alice", {first}, sent_before=50, limit=40, coming=21)
    assert (refused.value.code, refused.value.field) == ("too_large", "bundles")
    assert kept(bundles, first) == [True]


def test_sent_again_is_fresh_and_nobody_elses_are_touched(bundles: Bundles) -> None:
    mine, theirs = sent(bundles, b"same", 1), sent(bundles, b"same", 1, owner="bob")
    assert mine == theirs == bundles.save("alice", b"same")
    bundles.make_room("alice", (), sent_before=50, limit=100, coming=0)
    assert kept(bundles, mine) == [True]
    bundles.make_room("alice", (), sent_before=float("inf"), limit=0, coming=0)
    assert kept(bundles, mine) == [False]
    assert bundles.size("bob", theirs) == 4


def test_only_a_digest_names_a_bundle(bundles: Bundles) -> None:
    bundles.save("alice", b"x")
    assert [bundles.size("alice", name) for name in ("..", "", "a" * 63, "A" * 64)] == [None] * 4
