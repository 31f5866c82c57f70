"""Which cells must run again for a name, and what running them again may repeat."""

from __future__ import annotations

import pytest
from gearshift.state.cells import facts
from gearshift.state.remaking import Remaking

HISTORY = [
    "",
    "import sqlite3\npath = 'a.db'",
    "conn = sqlite3.connect(path)",
    "conn.execute('create table t (n)')",
    "rows = list(conn.execute('select 1'))",
    "x = 5\ncursor = conn.cursor()",
    "def step(n):\n    return n + offset(n)",
    "def offset(n):\n    return gone",
    "total = 1",
    "total = step(total)",
    "gone = 3",
    "del gone",
    "box = Box()\nbox.lid = conn",
    "print(box)",
    "again = 1\nagain = 2",
    "again = 3",
    "reply = await later()",
]


@pytest.mark.parametrize(
    ("name", "travels", "cells"),
    [
        ("conn", {"path", "sqlite3"}, (2, 3)),
        ("conn", set(), (1, 2, 3)),
        ("cursor", {"conn"}, (5,)),
        ("cursor", {"path", "sqlite3"}, (2, 3, 5)),
        ("total", {"step"}, (8, 9)),
        ("total", set(), (6, 7, 8, 9)),
        ("box", {"conn", "Box"}, (12,)),
        ("again", set(), (15,)),
        ("nowhere", set(), ()),
        ("gone", set(), ()),
    ],
)
def test_the_cells_are_those_that_made_it_and_what_it_needs(
    name: str, travels: set[str], cells: tuple[int, ...]
) -> None:
    assert Remaking(HISTORY, travels).of(name).cells == cells


def test_what_reaches_outside_the_kernel_is_said_by_cell() -> None:
    remake = Remaking(HISTORY, {"path", "sqlite3"}).of("conn")
    assert remake.doubts == {2: ("connect",), 3: ("execute",)}
    assert Remaking(HISTORY, {"later"}).of("reply").awaits == (16,)


@pytest.mark.parametrize(
    ("cell", "doubts"),
    [
        ("data = open('in.txt').read()\nx = 'a'.replace('b', 'c')", ()),
        ("log = open('out.txt', 'w')", ("open",)),
        ("log = open('out.txt', mode='a')", ("open",)),
        ("get_ipython().system('rm -r x')", ("!",)),
        ("get_ipython().run_line_magic('pip', 'install x')", ("pip",)),
        ("get_ipython().run_cell_magic('time', '', 'x = 1\\n')", ()),
        ("get_ipython().run_cell_magic('bash', '', 'rm x\\n')", ("bash",)),
        ("frame.to_csv('x.csv')\nframe.to_csv('y.csv')", ("to_csv",)),
        ("def later():\n    open('x', 'w')", ()),
        ("this is no python", ()),
        ("return 5", ()),
    ],
)
def test_doubts_are_found_in_what_runs_at_once(cell: str, doubts: tuple[str, ...]) -> None:
    assert facts(cell).doubts == doubts


def test_seconds_are_known_only_where_each_cell_was_timed() -> None:
    remake = Remaking(HISTORY, {"path", "sqlite3"}).of("conn")
    assert remake.seconds({2: 0.5, 3: 1.5, 9: 7.0}) == 2.0
    assert remake.seconds({2: 0.5}) is None
    assert Remaking(HISTORY, set()).of("nowhere").seconds({}) is None
