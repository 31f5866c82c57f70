"""What is found only in the new kernel: files, modules and folders that are gone, another Python, another device."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import gearshift.state as gs
import numpy as np
import pytest
import torch
from gearshift.state import chips, surroundings, tensors
from gearshift.state.container import HEADER, Reader, Writer
from gearshift.state.rebuild import LOADING
from gearshift.state.report import Reason, Variable, Verdict

KEY = b"k" * 32


@pytest.fixture(autouse=True)
def same_place() -> Any:
    """A load changes folder, path and environment; the test run keeps its own."""
    folder, path, environ = Path.cwd(), list(sys.path), dict(os.environ)
    yield
    os.chdir(folder)
    sys.path[:] = path
    os.environ.clear()
    os.environ.update(environ)


def namespace(*cells: str) -> dict[str, Any]:
    ns: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        exec(compile(cell, "<cell>", "exec"), ns)
    return ns


def load(path: Path) -> tuple[dict[str, Any], gs.Report]:
    ns: dict[str, Any] = {"__name__": "__main__"}
    return ns, gs.load(path, ns, KEY)


def codes(report: gs.Report) -> dict[str, Any]:
    return {v.name: v.to_json()["code"] for v in report.named}


def test_a_file_that_is_gone_is_named_and_its_neighbours_arrive(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\nb\n")
    with (tmp_path / "in.txt").open() as file, (tmp_path / "in.txt").open() as other:
        ns = {"file": file, "both": [file, "x"], "note": ["x"], "iterated": other}
        next(other)
        gs.save(ns, tmp_path / "f.gsk", KEY)
    (tmp_path / "in.txt").unlink()
    new, report = load(tmp_path / "f.gsk")
    assert codes(report) == {"file": "file_gone", "both": "file_gone", "iterated": "file_position"}
    assert "in.txt" in str(report.variable("file").to_json()["why"])
    assert new["note"] == ["x"]


def test_a_module_that_is_not_there_is_named_with_all_that_need_it(tmp_path: Path) -> None:
    (tmp_path / "only_here.py").write_text("class Thing:\n    pass\n")
    sys.path.insert(0, str(tmp_path))
    ns = namespace(
        "import only_here\nfrom only_here import Thing\nthing = Thing()\nclass Mine(Thing):\n    pass",
        "mine = Mine()\nshared = [1]\nmixed = [thing, shared]\nalone = {'s': shared}",
    )
    gs.save(ns, tmp_path / "f.gsk", KEY)
    (tmp_path / "only_here.py").unlink()
    del sys.modules["only_here"]
    new, report = load(tmp_path / "f.gsk")
    assert set(codes(report)) == {"only_here", "Thing", "thing", "Mine", "mine", "mixed"}
    assert codes(report)["thing"] == "missing_module"
    assert new["alone"]["s"] is new["shared"]


def test_compiled_code_of_another_python_is_named_and_the_data_arrives(tmp_path: Path) -> None:
    ns = namespace(
        "x = [1]\ndef f():\n    return x\nclass A:\n    def g(self):\n        pass\na = A()\ndata = {'x': x}\n"
        "class Plain:\n    limit = 3\nplain = Plain()"
    )
    gs.save(ns, tmp_path / "f.gsk", KEY)
    reader = Reader(tmp_path / "f.gsk", KEY)
    end = reader.index["chunks"] and max(
        s + n for g in reader.index["groups"] for s, n in [g["stream"], *g["buffers"]]
    )
    with Writer(tmp_path / "g.gsk", KEY) as writer:
        assert writer.put(reader.view((HEADER, end - HEADER)))[0] == HEADER
        writer.finish({**reader.index, "python": "3.9.1"})
    new, report = load(tmp_path / "g.gsk")
    assert codes(report) == {"f": "other_python", "A": "other_python", "a": "depends"}
    assert "Python 3.9" in str(report.variable("f").to_json()["why"])
    assert new["data"]["x"] is new["x"]
    assert type(new["plain"]) is new["Plain"]


def test_a_folder_that_is_gone_is_told_and_does_not_hinder(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    os.chdir(tmp_path / "work")
    gs.save({"x": 1}, tmp_path / "f.gsk", KEY)
    os.chdir(tmp_path)
    (tmp_path / "work").rmdir()
    new, report = load(tmp_path / "f.gsk")
    assert [note.code for note in report.notes] == ["no_folder"]
    assert new["x"] == 1


def test_path_entries_come_back_where_they_were(tmp_path: Path) -> None:
    before = list(sys.path)
    sys.path[:] = [str(tmp_path / "first"), *before, str(tmp_path / "last")]
    wanted = list(sys.path)
    around = surroundings.read({})
    sys.path[:] = before
    surroundings.before({}, around)
    assert sys.path == wanted


def test_variables_of_the_machine_are_not_carried(tmp_path: Path) -> None:
    for name in ("GEARSHIFT_MACHINE", "CUDA_VISIBLE_DEVICES", "JUPYTERHUB_API_TOKEN", "MINE"):
        os.environ[name] = "set in a cell"
    carried = surroundings.read({})["environ"]
    assert carried["MINE"] == "set in a cell"
    assert carried.keys().isdisjoint({"GEARSHIFT_MACHINE", "CUDA_VISIBLE_DEVICES", "JUPYTERHUB_API_TOKEN"})


class _Load:
    """As much of a load as rebuilding a tensor asks for."""

    def __init__(self) -> None:
        self.ns: dict[str, Any] = {}
        self.private: dict[int, dict[str, Any]] = {}
        self.notes: list[Reason] = []

    def definition(self, number: int) -> Any:
        raise KeyError(number)


def test_a_tensor_of_a_device_that_is_not_here_stays_on_the_cpu_and_says_so() -> None:
    loading = _Load()
    token = LOADING.set(loading)
    try:
        storage = tensors.storage(memoryview(bytearray(b"\0\0\x80?")), 0, 4, "cuda:99")
    finally:
        LOADING.reset(token)
    assert tensors.tensor_on(storage, torch.float32, 0, (1,), (1,), False, False).tolist() == [1.0]
    assert loading.notes == [Reason("on_cpu", {"device": "cuda:99"})]
    assert not chips.has("cuda:99")
    assert chips.has("cpu")


def test_large_outputs_are_listed_and_counted(tmp_path: Path) -> None:
    plan = gs.plan({"small": np.zeros(10), "big": np.zeros(1 << 18)})
    assert plan.bytes >= plan.variable("big").bytes > 2 << 20
    assert plan.variable("small").bytes < 1000


def test_records_are_read_as_they_were_written() -> None:
    variable = Variable(
        "x",
        "list",
        "data",
        "cpu",
        5,
        Verdict.RERUN,
        Reason("refuses", {"error": "E"}),
        [Reason("hooks")],
        [3],
        0.5,
    )
    assert Variable.from_json(variable.to_json()) == variable
    assert variable.to_json()["why"] == "its own code for saving raises E"
    assert variable.to_json()["rebuild_zh"] == "重新运行单元 [3]"
