"""The rule by which kept kernel state is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gearshift.model.kept_state import KeptState, StateKind, pinned, to_forget
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@st.composite
def lists(draw: st.DrawFn) -> list[KeptState]:
    """One person's, the newest first."""
    count = draw(st.integers(0, 12))
    return [
        KeptState(
            id=f"op-{number}",
            owner="a",
            workspace=draw(st.sampled_from(["a/x", "a/y"])),
            kind=draw(st.sampled_from(list(StateKind))),
            machine="m",
            image="i",
            taken_at=NOW - timedelta(hours=number),
            expires_at=NOW + timedelta(days=draw(st.sampled_from([-1, 3]))),
            bytes=draw(st.integers(0, 100)),
        )
        for number in range(count)
    ]


@given(lists(), st.integers(0, 500))
def test_what_stays_is_within_days_and_bound_and_nothing_asked_for_or_newest_is_pushed_out(
    kept: list[KeptState], bound: int
) -> None:
    gone = {one.id for one in to_forget(kept, NOW, bound)}
    stay = [one for one in kept if one.id not in gone]
    young = [one for one in kept if one.expires_at > NOW]
    assert all(one.expires_at > NOW for one in stay)
    held = pinned(young)
    assert {one.id for one in held} <= {one.id for one in stay}
    if sum(one.bytes for one in stay) > bound:
        assert {one.id for one in stay} == {one.id for one in held}
    for workspace in {one.workspace for one in young}:
        newest = next(one for one in young if one.workspace == workspace)
        assert newest.id not in gone


@given(lists())
def test_with_room_for_all_only_age_forgets(kept: list[KeptState]) -> None:
    assert {one.id for one in to_forget(kept, NOW, 10_000)} == {
        one.id for one in kept if one.expires_at <= NOW
    }


@given(lists(), st.integers(0, 500))
def test_forgetting_twice_is_forgetting_once(kept: list[KeptState], bound: int) -> None:
    gone = {one.id for one in to_forget(kept, NOW, bound)}
    assert to_forget([one for one in kept if one.id not in gone], NOW, bound) == []
