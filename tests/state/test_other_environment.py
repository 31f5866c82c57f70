"""Another Python or another package: what cannot cross is named, functions and classes are made again from source."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import gearshift
import gearshift.state as gs
import pytest
from gearshift.state import packages
from gearshift.state.container import HEADER, Reader, Writer
from gearshift_testing.ipykernels import Kernel
from gearshift_testing.moved import save

KEY = b"0123456789abcdef0123456789abcdef"
CELLS = [
    "from dataclasses import dataclass, field\nfrom enum import Enum\nimport functools, math, json",
    "factor = 3\nshared = [1]\ndef helper(x):\n    return x * factor",
    "def caller(x, y=factor):\n    return helper(x) + y\nscale = lambda x: helper(x) + 1",
    "@functools.lru_cache(maxsize=7)\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)",
    "class Base:\n    def __init__(self, n):\n        self.n, self.shared = n, shared\n"
    "    def twice(self):\n        return self.n * 2\nclass Child(Base):\n    @property\n"
    "    def more(self):\n        return self.n + 1\nchild = Child(5)\nchildren = {'a': child}",
    "@dataclass\nclass Item:\n    name: str\n    tags: list = field(default_factory=list)\nitem = Item('x')",
    "class Colour(Enum):\n    RED = 1\n    def shout(self):\n        return self.name + '!'\nred = Colour.RED",
    "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n"
    "    return up\nup = counter()",
    "mixed = {'f': lambda x: x}\nbeside = {'link': shared}\nnumbers = [1, 2.5, 'three']",
    "def patched():\n    return 1\npatched.__code__ = (lambda: 2).__code__",
]
CHECKS = {
    "caller(2)": 9,
    "scale(2)": 7,
    "fib(20)": 6765,
    "child.twice()": 10,
    "child.more": 6,
    "type(child) is Child and issubclass(Child, Base) and children['a'] is child": True,
    "child.shared is shared and beside['link'] is shared": True,
    "item == Item('x') and item.tags == []": True,
    "red is Colour.RED and red.shout()": "RED!",
    "(factor := 10) and helper(1)": 10,
    "numbers": [1, 2.5, "three"],
}
READ = """
import json, sys
sys.path[:0] = sys.argv[2:]
import gearshift.state as gs
def value(text, ns):
    try:
        return eval(text, ns)
    except Exception as error:
        return repr(error)
ns = {"__name__": "__main__"}
report = gs.load(sys.argv[1], ns, %r).to_json()
checks = {text: value(text, ns) for text in json.load(sys.stdin)}
print(json.dumps({"report": report, "checks": checks}))
"""
LOST = {"up": "other_python", "mixed": "other_python", "patched": "other_python"}


def other_pythons() -> Iterator[str]:
    """Interpreters of another minor on this machine, newest first."""
    known = [found for minor in range(15, 10, -1) if (found := shutil.which(f"python3.{minor}"))]
    known += [str(p) for p in Path.home().glob(".pyenv/versions/3.*/bin/python3.[0-9]*")]
    ours = sys.version_info[1]
    minors = {int(m[1]): path for path in known if (m := re.search(r"python3\.(\d+)$", path))}
    for minor in sorted(minors.keys() - {ours, *range(11)}, reverse=True):
        if subprocess.run([minors[minor], "-c", ""], capture_output=True, check=False).returncode == 0:
            yield minors[minor]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("other") / "kernel.gsk"
    with Kernel() as kernel:
        for cell in CELLS:
            kernel.run(cell)
        report = save(kernel, path)
    assert {v["name"] for v in report["variables"] if v["verdict"] != "copy"} == set()
    return path


def with_index(path: Path, target: Path, **changed: Any) -> Path:
    """The same file with something else recorded in it, signed again."""
    reader = Reader(path, KEY)
    spans = [span for group in reader.index["groups"] for span in [group["stream"], *group["buffers"]]]
    end = max(start + length for start, length in spans)
    with Writer(target, KEY) as writer:
        assert writer.put(reader.view((HEADER, end - HEADER)))[0] == HEADER
        writer.finish({**reader.index, **changed})
    return target


def read_in(python: str, path: Path, folder: Path) -> dict[str, Any]:
    """Loaded by another interpreter that has our sources and cloudpickle and nothing else."""
    (folder / "cloudpickle").symlink_to(Path(cloudpickle.__file__).parent)
    ours = str(Path(gearshift.__file__).parent.parent)
    done = subprocess.run(
        [python, "-I", "-c", READ % KEY, str(path), ours, str(folder)],
        input=json.dumps(list(CHECKS)), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(found: dict[str, Any], old: str) -> None:
    variables = {v["name"]: v for v in found["report"]["variables"]}
    assert {n: v["code"] for n, v in variables.items() if v["verdict"] != "copy"} == LOST
    assert found["checks"] == CHECKS
    assert (variables["up"]["verdict"], variables["up"]["cells"]) == ("rerun", [8])
    assert f"compiled code of Python {old} cannot run" in variables["mixed"]["why"]
    for name in ("caller", "scale", "fib", "Child", "Item", "Colour"):
        assert [note["code"] for note in variables[name]["notes"] if note["code"] != "cache_empty"] == [
            "from_source"
        ]
    assert variables["numbers"]["notes"] == []


def test_what_was_recorded_under_another_python_crosses_as_source(saved: Path, tmp_path: Path) -> None:
    path = with_index(saved, tmp_path / "other.gsk", python="3.9.1")
    check(read_in(sys.executable, path, tmp_path), "3.9")


def test_another_python_of_this_machine_reads_it(saved: Path, tmp_path: Path) -> None:
    python = next(other_pythons(), None)
    if python is None:
        pytest.skip("this machine has no second Python from 3.12 on")
    check(read_in(python, saved, tmp_path), ".".join(platform.python_version_tuple()[:2]))


def test_compiled_objects_of_another_major_version_are_named_and_the_rest_arrives(tmp_path: Path) -> None:
    import numpy as np
    import pandas as pd

    frame, array = pd.DataFrame({"a": [1, 2]}), np.arange(3.0)
    gs.save({"frame": frame, "array": array, "plain": [1]}, tmp_path / "f.gsk", KEY)
    known = Reader(tmp_path / "f.gsk", KEY).index["packages"]
    assert known["pandas"] == [pd.__version__, True]
    path = with_index(tmp_path / "f.gsk", tmp_path / "g.gsk", packages={**known, "pandas": ["1.5.3", True]})
    new: dict[str, Any] = {}
    report = gs.load(path, new, KEY)
    assert [(v.name, v.to_json()["code"]) for v in report.named] == [("frame", "other_version")]
    why = report.variable("frame").to_json()["why"]
    assert why == (
        f"it was written by pandas 1.5.3; this machine has {pd.__version__}, whose compiled objects are others"
    )
    assert new["array"].tolist() == [0, 1, 2]
    assert new["plain"] == [1]


def test_pure_packages_and_the_same_major_are_tried() -> None:
    assert packages.refused(["json", "numpy"], {"json": ["9.0", False], "numpy": ["2.0.0", True]}) is None
    reason = packages.refused(["numpy"], {"numpy": ["1.26.4", True]})
    assert reason is not None
    assert reason.code == "other_version"
