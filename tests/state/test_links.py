"""Whatever shares an object goes on sharing it; what does not, does not."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import gearshift.state as gs
import numpy as np
import pytest
from gearshift.state.fingerprint import fingerprint
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KEY = b"k" * 32
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def moved(ns: dict[str, Any], folder: Path) -> tuple[dict[str, Any], gs.Report]:
    """The namespace as a new process of the same name would have it."""
    path = folder / f"{uuid.uuid4()}.gsk"
    gs.save(ns, path, KEY)
    new: dict[str, Any] = {"__name__": "__main__"}
    return new, gs.load(path, new, KEY)


def namespace(*cells: str) -> dict[str, Any]:
    ns: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        exec(compile(cell, "<cell>", "exec"), ns)
    return ns


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Variables over a pool of containers and arrays that refer to each other anyhow, loops included."""
    kinds = draw(
        st.lists(st.sampled_from(["list", "dict", "array", "view", "tuple"]), min_size=1, max_size=12)
    )
    pool: list[Any] = []
    for kind in kinds:
        arrays = [thing for thing in pool if isinstance(thing, np.ndarray)]
        if kind == "array" or (kind == "view" and not arrays):
            pool.append(np.arange(draw(st.integers(1, 9)), dtype="f8"))
        elif kind == "view":
            base = draw(st.sampled_from(arrays))
            start = draw(st.integers(0, len(base) - 1))
            pool.append(base[start :: draw(st.sampled_from([1, 2, -1]))])
        else:
            pool.append({"list": list, "dict": dict, "tuple": list}[kind]())
    holders = [thing for thing in pool if isinstance(thing, (list, dict))]
    for holder in holders:
        for number in range(draw(st.integers(0, 4))):
            part = draw(st.one_of(st.sampled_from(pool), st.integers(), st.text(max_size=3)))
            holder.append(part) if isinstance(holder, list) else holder.__setitem__(number, part)
    names = draw(st.lists(st.sampled_from(range(len(pool))), min_size=1, max_size=8))
    return {f"v{i}": pool[number] for i, number in enumerate(names)}


def marks(ns: dict[str, Any], names: list[str]) -> list[str]:
    """What each array shows after every array in turn was written to: equal only where the same memory is shared."""
    arrays = [ns[name] for name in names if isinstance(ns[name], np.ndarray)]
    for number, array in enumerate(arrays):
        array[...] = np.arange(number * 100, number * 100 + array.size)
    return [str(array.tolist()) for array in arrays]


@quick
@given(graphs())
def test_any_graph_keeps_its_shape_and_its_shared_memory(tmp_path: Path, ns: dict[str, Any]) -> None:
    names = list(ns)
    new, report = moved(ns, tmp_path)
    assert report.named == []
    assert fingerprint([new[n] for n in names]) == fingerprint([ns[n] for n in names])
    assert marks(new, names) == marks(ns, names)


@pytest.mark.parametrize("order", ["good, bad", "bad, good"])
def test_one_that_breaks_on_load_takes_nobody_along_and_no_link(tmp_path: Path, order: str) -> None:
    made = {
        "good": "pair = [shared, {'k': shared}]",
        "bad": "breaks = [Breaks(shared), shared]",
    }
    ns = namespace(
        "class Breaks:\n    def __init__(self, x):\n        self.x = x\n"
        "    def __setstate__(self, s):\n        raise ValueError('no')\nshared = [1]",
        *(made[name] for name in order.split(", ")),
        "class Heir(list):\n    pass\nheir = Heir([shared])\nheir.more = shared",
    )
    new, report = moved(ns, tmp_path)
    assert [v.name for v in report.named] == ["breaks"]
    assert report.variable("breaks").to_json()["why"].endswith("raises ValueError: no")
    assert new["pair"][0] is new["shared"] is new["pair"][1]["k"] is new["heir"][0] is new["heir"].more
    assert "breaks" not in new


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("class A:\n    def __reduce__(self):\n        return (eval, ('1 / 0',))\nbad = A()", ["bad"]),
        ("class A:\n    def __reduce__(self):\n        return (dict, (), {'x': 1})\nbad = [A()]", ["bad"]),
        ("class A(dict):\n    def __setitem__(self, k, v):\n        raise KeyError(k)\nbad = A(x=1)", ["bad"]),
        ("class A(list):\n    def extend(self, v):\n        raise KeyError\n    append = extend\nbad = A([1, 2])", ["bad"]),
        ("class A:\n    def __new__(cls, *a):\n        return a and object.__new__(cls) or 1 / 0\nbad = [A(1)]", ["bad"]),
        ("class A:\n    def __reduce__(self):\n        return 'gone'\nbad = A()\ngone = bad", ["bad", "gone"]),
    ],
)  # fmt: skip
def test_all_ways_to_break_are_named_alone(tmp_path: Path, cell: str, names: list[str]) -> None:
    ns = namespace(
        "link = [1]", cell, "bad = (bad, link)" if names == ["bad"] else "", "other = {'link': link}"
    )
    new, report = moved(ns, tmp_path)
    assert [v.name for v in report.named] == names
    assert new["other"]["link"] is new["link"]


def test_a_class_that_cannot_travel_takes_only_those_that_need_it(tmp_path: Path) -> None:
    ns = namespace(
        "import threading",
        "class Guarded:\n    lock = threading.Lock()\nclass Child(Guarded):\n    pass\nclass Free:\n    pass",
        "guarded, child, free, both = Guarded(), Child(), Free(), [Free(), Child()]",
    )
    new, report = moved(ns, tmp_path)
    assert [v.name for v in report.named] == ["Guarded", "Child", "guarded", "child", "both"]
    assert type(new["free"]) is new["Free"]
    assert "Guarded" in str(report.variable("child").to_json()["why"]) or "Child" in str(
        report.variable("child").to_json()["why"]
    )


def test_classes_and_functions_that_need_each_other_travel_together(tmp_path: Path) -> None:
    ns = namespace(
        "class A:\n    pass\nclass B:\n    pass\nA.friend = B\nB.friend = A\nA.made = B()\nB.made = A()",
        "def outer():\n    def ping(n):\n        return n if n < 1 else pong(n - 1)\n"
        "    def pong(n):\n        return -n if n < 1 else ping(n - 1)\n    return ping, pong\nping, pong = outer()",
    )
    new, report = moved(ns, tmp_path)
    assert report.named == []
    assert new["A"].friend is new["B"]
    assert type(new["A"].made) is new["B"]
    assert type(new["B"].made) is new["A"]
    assert new["ping"](3) == 0
    assert new["ping"].__closure__[0].cell_contents is new["pong"]


def test_an_old_version_of_a_class_travels_beside_the_new_one(tmp_path: Path) -> None:
    ns = namespace(
        "class A:\n    version = 1\nold = A()\nolder = [A()]", "class A:\n    version = 2\nnew = A()"
    )
    new, report = moved(ns, tmp_path)
    assert report.named == []
    assert (new["old"].version, new["new"].version) == (1, 2)
    assert type(new["older"][0]) is type(new["old"]) is not new["A"]


def test_variables_without_a_link_lie_in_groups_of_their_own(tmp_path: Path) -> None:
    from gearshift.state.container import Reader

    ns = namespace(
        "a = [1]\nb = [2]\nc = [a]\ndef f():\n    return a\nd = {'f': f}\ne = {'f': f}\nx = y = (1, [2])"
    )
    path = tmp_path / "f.gsk"
    gs.save(ns, path, KEY)
    index = Reader(path, KEY).index
    groups = {
        frozenset(n for i in g["nodes"] for n in index["nodes"][str(i)]["names"]) for g in index["groups"]
    }
    assert groups == {frozenset(g) for g in ({"a", "c"}, {"b"}, {"f"}, {"d"}, {"e"}, {"x", "y"})}


def test_planning_and_saving_change_nothing(tmp_path: Path) -> None:
    import random

    ns = namespace("import random\nx = [1, {2: 'z'}]\ndef f():\n    return x\nclass A:\n    y = x\na = A()")
    kept, state = dict(ns), random.getstate()
    before = fingerprint([ns["x"], ns["a"]])
    plan = gs.plan(ns)
    report = gs.save(ns, tmp_path / "f.gsk", KEY)
    assert ns == kept
    assert list(ns) == list(kept)
    assert random.getstate() == state
    assert fingerprint([ns["x"], ns["a"]]) == before
    assert [(v.name, v.verdict) for v in plan.variables] == [(v.name, v.verdict) for v in report.variables]


def test_the_plan_counts_shared_memory_once(tmp_path: Path) -> None:
    ns = {"a": np.zeros(1 << 20), "word": "x"}
    ns["view"], ns["again"] = ns["a"][10:], [ns["a"]]
    plan = gs.plan(ns)
    assert 8 << 20 <= plan.bytes < (8 << 20) + 2000
    assert plan.variable("view").bytes < 1000
    report = gs.save(ns, tmp_path / "f.gsk", KEY)
    assert (tmp_path / "f.gsk").stat().st_size == report.bytes < (8 << 20) + 40_000


def test_what_is_left_out_stays_behind_and_is_said(tmp_path: Path) -> None:
    ns = namespace("a = [1]\nb = [a]")
    gs.save(ns, tmp_path / "f.gsk", KEY, leave_out=["a"])
    new: dict[str, Any] = {}
    report = gs.load(tmp_path / "f.gsk", new, KEY)
    assert new["b"] == [[1]]
    assert "a" not in new
    assert report.variable("a").verdict is gs.Verdict.LEFT_OUT


def test_too_deep_is_named(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    _, report = moved({"deep": deep, "x": 1}, tmp_path)
    assert [(v.name, v.to_json()["code"]) for v in report.named] == [("deep", "too_deep")]
    while deep:
        deep = deep.pop()


def test_reasons_are_told_in_both_languages() -> None:
    import re

    from gearshift.state.reasons import SENTENCES, sentence

    for code, (en, zh) in SENTENCES.items():
        assert re.search("[一-鿿]", zh), code
        assert set(re.findall(r"{\w+}", en)) == set(re.findall(r"{\w+}", zh)), code
        assert sentence(code, {})[0]
