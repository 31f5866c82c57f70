"""Every row of objects.md: saved in one real kernel, loaded in a fresh one."""

from __future__ import annotations

import pytest
from gearshift_testing.moved import Moved
from gearshift_testing.objects import ROWS, Row

NAMED = {name for row in ROWS for name in row.named}


@pytest.mark.parametrize("row", ROWS, ids=[row.title for row in ROWS])
def test_what_travels_is_as_before_and_what_does_not_is_named(moved: Moved, row: Row) -> None:
    told = {name: moved.variable(name)["code"] for name in row.named}
    assert told == row.named
    for name, code in row.noted.items():
        assert code in [note["code"] for note in moved.variable(name)["notes"]]
    if row.after:
        moved.new.run(row.after, history=False)


def test_nothing_else_is_lost(moved: Moved) -> None:
    lost = {v["name"] for v in moved.loaded["variables"] if v["verdict"] != "copy"}
    assert lost == NAMED
