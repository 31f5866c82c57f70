"""Which cell made which name."""

from __future__ import annotations

from gearshift.state.cells import binders, calls, dotted_imports

CELLS = [
    "",
    "import os.path, numpy as np\nfrom sys import path as where",
    "a, (b, *c) = 1, (2, 3)\nd: int = 4",
    "def f(x):\n    inner = x\n    return [y for y in x]\nclass K:\n    attribute = 1",
    "for i in range(3):\n    last = i\nwith open('f') as g:\n    pass\nif (w := 1):\n    a += 1",
    "try:\n    t = 1\nexcept Exception as e:\n    u = 2",
    "get_ipython().run_cell_magic('time', '', 'timed = 1\\n')",
    "get_ipython().run_cell_magic('bash', '', 'not_python = 1\\n')",
    "this is no python",
    "del b\nmatch a:\n    case [first, *rest]:\n        pass",
    "squares = [k * k for k in range(3) if (seen := k)]",
]


def test_names_are_known_with_the_cells_that_bound_them() -> None:
    found = binders(CELLS)
    assert found == {
        "os": [1], "np": [1], "where": [1], "a": [2, 4], "c": [2], "d": [2], "f": [3], "K": [3],
        "i": [4], "last": [4], "g": [4], "w": [4], "t": [5], "u": [5], "timed": [6], "first": [9], "rest": [9],
        "squares": [10], "seen": [10],
    }  # fmt: skip


def test_submodules_are_found_wherever_they_are_imported() -> None:
    cells = ["import a.b.c as x, d", "def f():\n    import e.f", "from g import h"]
    assert dotted_imports(cells) == ["a.b.c", "e.f"]


def test_calls_are_found_by_their_name() -> None:
    assert calls(["torch.set_num_threads(2)"], "set_num_threads")
    assert not calls(["# set_num_threads", "set_num_threads = 3"], "set_num_threads")
