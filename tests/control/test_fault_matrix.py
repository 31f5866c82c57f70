"""What dies at which step of a switch, in which direction: every cell ends on one machine, with one bill and its state."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from gearshift_testing.controls import ON_SQLITE
from gearshift_testing.fault_matrix import FAULTS, POINTS, Outcome, Point, World, cell

pytestmark = ON_SQLITE

BEFORE_SAVED = {("forward", "reserve"), ("forward", "save")}
CRASHES = ("control", "hub", "hub for minutes", "database")
KILLS = ("control", "hub", "old server", "new server")
"""What going forward depends on, whether the old machine is frozen or gone; other faults strike both alike."""
OLD_IS_BACK = {("back", "save"), ("back", "reserve")}


@pytest.fixture
async def frozen(database_url: str) -> AsyncIterator[World]:
    world = World(database_url, freeze=True)
    yield world
    await world.close()


@pytest.fixture
async def saved(database_url: str) -> AsyncIterator[World]:
    world = World(database_url, freeze=False)
    yield world
    await world.close()


@pytest.mark.parametrize("fault", FAULTS)
async def test_where_both_fit_it_is_on_the_new_machine_or_on_the_old_one_as_it_was(
    frozen: World, fault: str
) -> None:
    wrong = [
        f"{fault} at {point}: {outcome}"
        for point in _points(fault)
        if not _is_right(fault, point, outcome := await cell(frozen, fault, point), freeze=True)
    ]
    assert wrong == []


@pytest.mark.parametrize("fault", FAULTS)
async def test_where_they_do_not_fit_it_goes_back_to_what_was_saved(saved: World, fault: str) -> None:
    wrong = [
        f"{fault} at {point}: {outcome}"
        for point in _points(fault)
        if (point[0] == "back" or fault in KILLS)
        and not _is_right(fault, point, outcome := await cell(saved, fault, point), freeze=False)
    ]
    assert wrong == []


def _points(fault: str) -> list[Point]:
    """Between a step's effect and its entry in the journal only a crash differs from one at the next step's beginning."""
    return [point for point in POINTS if point[2] == "begun" or fault in CRASHES]


def _is_right(fault: str, point: Point, outcome: Outcome, *, freeze: bool) -> bool:
    if outcome.faults:
        return False
    if _dies_by_itself(fault, point):
        return True
    as_it_was = outcome.same_tree or not freeze or outcome.where == "new" or fault == "old server"
    has_state = outcome.has_state or _cannot_be_loaded(fault, point, freeze=freeze)
    return outcome.where != "gone" and has_state and as_it_was


def _dies_by_itself(fault: str, point: Point) -> bool:
    """Not of the switch: as at any other time, what a process held since the last save goes with it."""
    direction, step, moment = point
    early = (direction, step) in BEFORE_SAVED and (step, moment) != ("save", "done")
    late = (direction, step) in OLD_IS_BACK or point == ("back", "stop", "done")
    if fault == "old server":
        return early or late
    if fault == "kernel":
        return early or late or point == ("forward", "restore", "done") or step in ("verify", "release")
    verified = direction == "forward" and (step == "release" or (step, moment) == ("verify", "done"))
    return fault == "new server" and verified


def _cannot_be_loaded(fault: str, point: Point, *, freeze: bool) -> bool:
    """On the old machine again, which runs; what could not be loaded is kept in its file and can be asked for again."""
    return not freeze and point[0] == "back" and fault in ("disk", "kernel while loading")
