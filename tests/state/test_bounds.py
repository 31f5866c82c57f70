"""Objects that hang, refuse, lie, leave or change things while they are asked: each is named, the others arrive."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import gearshift.state as gs
import pytest
from gearshift.state import bounded
from gearshift.state.bounded import TookTooLong, attempt, unbounded, watch

KEY = b"k" * 32

HANGS = "    def {method}(self, *state):\n        while True:\n            time.sleep(0.01)\n"
CLASSES = {
    "hangs_on_save": "class A:\n" + HANGS.format(method="__reduce__"),
    "hangs_on_load": "class A:\n    def __init__(self):\n        self.x = 1\n" + HANGS.format(method="__setstate__"),
    "leaves": "class A:\n    def __getstate__(self):\n        raise SystemExit\n",
    "own_kind": "class Odd(BaseException):\n    pass\nclass A:\n    def __reduce__(self):\n        raise Odd\n",
    "never_ends": "class A:\n    def __reduce__(self):\n        return A, (), {'again': A()}\n",
    "nameless": "class Meta(type):\n    def __getattribute__(cls, name):\n        return 1 / 0\n"
    "class A(metaclass=Meta):\n    def __reduce__(self):\n        raise KeyError\n",
    "clears": "class A:\n    def __getstate__(self):\n        globals().clear()\n        return {}\n",
    "swaps_class": "class A:\n    __class__ = property(lambda self: 1 / 0)\n"
    "    def __reduce__(self):\n        raise KeyError\n",
}  # fmt: skip
CODES = {
    "hangs_on_save": "too_slow",
    "hangs_on_load": "too_slow",
    "leaves": "refuses",
    "own_kind": "refuses",
    "never_ends": "too_deep",
    "nameless": "refuses",
    "swaps_class": "refuses",
}


def namespace(*cells: str) -> dict[str, Any]:
    ns: dict[str, Any] = {"__name__": "__main__", "time": time}
    for cell in cells:
        exec(compile(cell, "<cell>", "exec"), ns)
    return ns


@pytest.mark.parametrize("kind", CLASSES)
def test_the_odd_one_is_named_and_its_neighbours_arrive(tmp_path: Path, kind: str) -> None:
    ns = namespace(
        "first = [1]", CLASSES[kind], "odd = A()\nholds = {'odd': [odd]}", "last = {'link': first}"
    )
    path = tmp_path / "f.gsk"
    plan = gs.plan(ns, object_seconds=0.2)
    gs.save(ns, path, KEY, object_seconds=0.2)
    new: dict[str, Any] = {"__name__": "__main__"}
    report = gs.load(path, new, KEY, object_seconds=0.2)
    assert new["last"]["link"] is new["first"]
    named = {v.name: v.reason.code for v in report.named if v.reason is not None}
    if kind in CODES:
        assert named["odd"] == CODES[kind]
        assert "holds" in named
        assert "odd" not in new
    assert [v.name for v in plan.variables] == [v.name for v in report.variables]


def test_what_is_large_and_goes_on_is_not_taken_for_one_that_hangs(tmp_path: Path) -> None:
    ns = namespace(
        "class Slow:\n    def __reduce__(self):\n        time.sleep(0.02)\n        return Slow, ()\n"
        "many = [Slow() for _ in range(50)]"
    )
    gs.save(ns, tmp_path / "f.gsk", KEY, object_seconds=0.2)
    report = gs.load(tmp_path / "f.gsk", {"__name__": "__main__"}, KEY)
    assert report.named == []


def test_each_that_hangs_leaves_less_time_to_the_next() -> None:
    ns = namespace(CLASSES["hangs_on_save"], *(f"odd{n} = A()" for n in range(6)))
    plan = gs.plan(ns, object_seconds=0.4)
    assert [v.reason.words["seconds"] for v in plan.named if v.reason] == ["0.4", "0.2", *["0.1"] * 4]


def test_a_bound_inside_another_does_not_end_it() -> None:
    def outer() -> str:
        _, error = attempt(lambda: time.sleep(60), 0.1)
        assert isinstance(error, TookTooLong)
        with unbounded():
            time.sleep(0.4)
        return "went on"

    with watch():
        assert attempt(outer, 0.4) == ("went on", None)


def test_an_interrupt_is_nobodys_refusal() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted)


def test_the_alarm_that_was_there_comes_back() -> None:
    rings: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rings.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 600)
        with watch():
            attempt(lambda: None)
        assert 500 < signal.getitimer(signal.ITIMER_REAL)[0] <= 600
        signal.raise_signal(signal.SIGALRM)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rings == [signal.SIGALRM]


def test_a_thread_beside_the_main_one_plans_without_an_alarm() -> None:
    found: list[gs.Plan] = []
    thread = threading.Thread(target=lambda: found.append(gs.plan({"x": [1]})))
    thread.start()
    thread.join(60)
    assert [v.name for v in found[0].moved] == ["x"]
    assert bounded._current is None


def test_ten_thousand_variables_are_no_burden(tmp_path: Path) -> None:
    ns: dict[str, Any] = {f"v{n}": {"n": n} if n % 3 else [str(n)] for n in range(10_000)}
    began = time.process_time()
    gs.plan(ns)
    gs.save(ns, tmp_path / "f.gsk", KEY)
    new: dict[str, Any] = {}
    report = gs.load(tmp_path / "f.gsk", new, KEY)
    assert time.process_time() - began < 30, "a few milliseconds of work for each would be too much"
    assert report.named == []
    assert new == ns
    assert list(new) == list(ns)
