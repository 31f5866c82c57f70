"""Every row of objects.md: saved in one real kernel, loaded in a fresh one."""

from __future__ import annotations

from pathlib import Path

import pytest
from gearshift_testing.moved import Moved
from gearshift_testing.objects import ROWS, Row, in_words

NAMED = {name for row in ROWS for name in row.named}


@pytest.mark.parametrize("row", ROWS, ids=[row.title for row in ROWS])
def test_what_travels_is_as_before_and_what_does_not_is_named(moved: Moved, row: Row) -> None:
    told = {name: moved.variable(name)["code"] for name in row.named}
    assert told == row.named
    for name, code in row.noted.items():
        assert code in [note["code"] for note in moved.variable(name)["notes"]]
    if row.after:
        moved.new.run(row.after, history=False)


def test_the_page_for_people_says_what_the_table_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "what-travels.md"
    lines = page.read_text().splitlines()
    assert [line for line in map(in_words, ROWS) if line not in lines] == []


def test_nothing_else_is_lost(moved: Moved) -> None:
    lost = {v["name"] for v in moved.loaded["variables"] if v["verdict"] != "copy"}
    assert lost == NAMED


def test_the_next_random_numbers_are_those_that_would_have_come(moved: Moved) -> None:
    assert moved.draws == moved.expected_draws


def test_the_plan_said_before_what_the_save_did(moved: Moved) -> None:
    told = {v["name"]: (v["verdict"], v["code"]) for v in moved.plan["variables"]}
    assert told == {v["name"]: (v["verdict"], v["code"]) for v in moved.saved["variables"]}


def test_what_is_lost_comes_with_the_cell_that_makes_it(moved: Moved) -> None:
    refuses = moved.variable("refuses")
    assert refuses["verdict"] == "rerun"
    assert refuses["rebuild"] == f"run cell [{refuses['cells'][0]}] again"
    assert refuses["rebuild_zh"] == f"重新运行单元 [{refuses['cells'][0]}]"
    generator = moved.variable("gen")
    assert (generator["verdict"], generator["where"]) == ("cannot_move", "process")
    assert moved.old.value(f"'gen = ' in In[{generator['cells'][0]}]")


def test_the_history_goes_on_where_it_was(moved: Moved) -> None:
    cells = moved.old.value("len(In)")
    moved.new.run("last_cell = len(In) - 1")
    assert moved.new.value("last_cell") == cells


def test_the_question_leaves_no_name_behind(moved: Moved) -> None:
    assert "gearshift" not in moved.new.value("sorted(globals())")
