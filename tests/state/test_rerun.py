"""Variables that cannot be copied are made again by running their cells, when a person said so; in real kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from gearshift_testing.ipykernels import Kernel
from gearshift_testing.moved import load, report, save

CELLS = [
    "notes = 'the first cell'",
    "import threading, sqlite3, random, time\nsource, marker = [1, 2, 3], 'there'",
    "class Box:\n    def __init__(self, items):\n        self.items, self.lock = items, threading.Lock()\n"
    "        time.sleep(0.05)\nhelper = 1\nbox = Box(source)\nkept = [0]\nprint('made')",
    "kept.append(random.random())\ndel helper",
    "box.items.append(4)",
    "class Never:\n    def __reduce__(self):\n        raise KeyError('no')\nnever = Never()",
    "fails_now = {'n': never, 'x': 1 / (marker == 'there')}",
    "conn = sqlite3.connect(':memory:')\nconn.execute('create table t (n)')",
    "untouched = [never]",
    "get_ipython().system('true')\nshell = [threading.Lock()]",
    "import asyncio\nawaited = [threading.Lock(), await asyncio.sleep(0, 5)]",
    "random.seed(7)\nlater = [threading.Lock()]",
    "hangs = [threading.Lock(), time.sleep(0 if marker == 'there' else 600)]",
    "marker = 'gone'",
    "source.clear()\nrandom.seed(3)",
]
WANTED = ["box", "never", "fails_now", "hangs", "conn", "later", "shell", "nobody", "kept"]


@dataclass
class Rerun:
    new: Kernel
    plan: dict[str, Any]
    loaded: dict[str, Any]
    kept: list[float]
    draw: float

    def before(self, name: str) -> dict[str, Any]:
        return next(v for v in self.plan["variables"] if v["name"] == name)

    def after(self, name: str) -> dict[str, Any]:
        return next(v for v in self.loaded["variables"] if v["name"] == name)


@pytest.fixture(scope="module")
def rerun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rerun]:
    path = tmp_path_factory.mktemp("rerun") / "kernel.gsk"
    with Kernel() as old, Kernel() as new:
        for cell in CELLS:
            old.run(cell)
        plan = report(old, "plan(globals())")
        save(old, path)
        loaded = load(new, path, f"rerun={WANTED!r}, rerun_seconds=10.0")
        draw = old.value("random.random()")
        yield Rerun(new, plan, loaded, old.value("kept"), draw)


def test_the_plan_names_the_cells_and_the_seconds_they_took(rerun: Rerun) -> None:
    box = rerun.before("box")
    assert (box["verdict"], box["cells"]) == ("rerun", [3, 5])
    assert 0.05 < box["seconds"] < 20
    assert box["way_back"] == "run cells [3], [5] again"
    assert box["way_back_zh"] == "重新运行单元 [3], [5]"
    assert "_thread.lock" in box["why"]
    assert rerun.before("fails_now")["cells"] == [6, 7]
    assert rerun.before("kept")["verdict"] == "copy"


def test_what_cannot_be_judged_is_said_before(rerun: Rerun) -> None:
    assert "reaches outside the kernel (connect, execute)" in rerun.before("conn")["caution"]
    assert rerun.before("conn")["verdict"] == "cannot_move"
    assert "!" in rerun.before("shell")["caution"]
    assert rerun.before("awaited")["verdict"] == "cannot_move"
    assert "await" in rerun.before("awaited")["caution_zh"]
    assert rerun.before("box")["caution"] is None


def test_what_was_asked_for_is_there_again(rerun: Rerun) -> None:
    assert rerun.after("box")["outcome"] == "rebuilt"
    assert rerun.new.value("box.lock.locked()") is False
    assert rerun.after("never")["outcome"] == "rebuilt"
    assert rerun.new.value("conn.execute('select count(*) from t').fetchone()") == (0,)
    assert rerun.after("later")["outcome"] == rerun.after("shell")["outcome"] == "rebuilt"


def test_what_was_copied_stays_as_it_was_copied(rerun: Rerun) -> None:
    assert rerun.new.value("kept") == rerun.kept, "its first cell made an empty one on the way"
    assert rerun.new.value("'helper' in globals()") is False
    assert rerun.after("kept")["outcome"] == "copied"


def test_a_copy_that_a_cell_changed_in_place_is_named(rerun: Rerun) -> None:
    codes = [note["code"] for note in rerun.after("source")["notes"]]
    assert codes == ["rerun_changed"]


def test_one_that_fails_or_hangs_is_named_and_hinders_nobody(rerun: Rerun) -> None:
    assert rerun.after("fails_now")["outcome"] == "not_rebuilt"
    assert "ZeroDivisionError" in rerun.after("fails_now")["why"]
    assert rerun.after("hangs")["outcome"] == "not_rebuilt"
    assert "stopped after" in rerun.after("hangs")["why"]


def test_what_nobody_asked_for_is_not_run(rerun: Rerun) -> None:
    assert rerun.after("untouched")["outcome"] == "lost"
    assert rerun.new.value("'untouched' in globals()") is False


def test_running_again_leaves_no_trace_in_history_and_dice(rerun: Rerun) -> None:
    assert rerun.new.value("len(In)") == len(CELLS) + 1
    assert rerun.new.value("random.random()") == rerun.draw
