"""From cell history to a bundle: definitions as source, values by rule, refusals that name what cannot travel."""

from __future__ import annotations

import random
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gearshift import cell_names as names
from gearshift.model.errors import GearshiftError
from gearshift.train import bundle as bundles
from gearshift.train.bundle import Bundle, Code, Value
from gearshift.train.cells import build, read_history
from gearshift.train.cells.history import Cell, cell
from hypothesis import given
from hypothesis import strategies as st


class Notebook:
    """Cells run one after the other in a namespace called `__main__`, as a kernel does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.inputs = [""]

    def run(self, source: str) -> Notebook:
        source = textwrap.dedent(source).strip("\n")
        self.inputs.append(source)
        exec(compile(source, f"In[{len(self.inputs) - 1}]", "exec"), self.namespace)
        return self

    def launch(self, source: str, **rules: Any) -> Bundle:
        text = "%%gearshift --nodes 2\n" + textwrap.dedent(source).strip("\n")
        return build(
            Cell(len(self.inputs), text, 1), read_history(self.inputs), self.namespace, self.folder, **rules
        )


@pytest.fixture
def notebook(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path)


def sources(bundle: Bundle) -> list[str]:
    return [chunk.source if isinstance(chunk, Code) else f"<{chunk.name}>" for chunk in bundle.chunks]


def refused(launch: Callable[[], Any]) -> GearshiftError:
    with pytest.raises(GearshiftError) as caught:
        launch()
    return caught.value


def test_only_what_the_cell_needs_travels_and_in_the_order_of_the_notebook(notebook: Notebook) -> None:
    notebook.run("import math\nunused = 1")
    notebook.run("LR = 0.5\ndef helper(x):\n    return x * LR")
    notebook.run(
        "class Net:\n    rate = LR\n    def go(self):\n        return helper(math.pi)\ndef other(): pass"
    )
    bundle = notebook.launch("net = Net()\nprint(net.go())")
    assert sources(bundle) == [
        "import math",
        "<LR>",
        "def helper(x):\n    return x * LR",
        "class Net:\n    rate = LR\n    def go(self):\n        return helper(math.pi)",
        "net = Net()\nprint(net.go())",
    ]
    assert [chunk.line for chunk in bundle.chunks if isinstance(chunk, Code)] == [1, 2, 1, 2]


def test_the_last_definition_of_a_name_wins(notebook: Notebook) -> None:
    notebook.run("def f(): return 1").run("def f(): return 2").run("g = lambda: f()")
    assert sources(notebook.launch("g()"))[:2] == ["def f(): return 2", "g = lambda: f()"]
    notebook.run("f = abs")
    assert sources(notebook.launch("f(-1)"))[0] == "<f>"


def test_decorators_travel_with_what_they_decorate(notebook: Notebook) -> None:
    notebook.run("import functools").run("@functools.lru_cache\ndef f(n):\n    return n")
    bundle = notebook.launch("f(1)")
    assert sources(bundle)[:2] == ["import functools", "@functools.lru_cache\ndef f(n):\n    return n"]


def test_both_submodules_that_bind_one_name_are_imported(notebook: Notebook) -> None:
    notebook.run("import xml.dom").run("import xml.sax")
    assert sources(notebook.launch("xml.dom, xml.sax"))[:2] == ["import xml.dom", "import xml.sax"]


def test_a_name_bound_by_the_cell_itself_is_not_sent(notebook: Notebook) -> None:
    notebook.run("x = 1\ny = 2\nz = 3")
    bundle = notebook.launch("x = 5\nfor y in range(3):\n    z += y\nprint([x for x in range(y)])")
    assert sources(bundle)[:-1] == ["<z>"]


def test_a_value_over_the_limit_is_refused_with_its_cell_and_goes_when_it_is_named(
    notebook: Notebook,
) -> None:
    notebook.run("import numpy as np\nBIG = np.zeros(2_000_000)")
    began = time.process_time()
    error = refused(lambda: notebook.launch("print(BIG.sum())"))
    assert time.process_time() - began < 1
    assert (error.code, error.status) == ("too_large", 413)
    assert error.message == "BIG (In[1]) is 16 MB; at most 1 MB is possible."
    assert "--send BIG" in error.facts["remedy"]
    bundle = notebook.launch("print(BIG.sum())", send=["BIG"])
    assert next(bundles.values(bundle)).shape == (2_000_000,)


def test_C40_what_cannot_be_pickled_is_named_at_once(notebook: Notebook) -> None:
    notebook.run("import threading, tempfile\nlock = threading.Lock()").run("log = open('/dev/null', 'w')")
    notebook.run("def train():\n    with lock:\n        log.write('x')")
    began = time.process_time()
    error = refused(lambda: notebook.launch("train()"))
    assert time.process_time() - began < 2
    assert error.code == "unpicklable"
    assert error.value == ["lock", "log"]
    assert "lock (In[1], lock: " in error.message
    assert "log (In[2], TextIOWrapper: " in error.message
    assert "Nothing was reserved or charged" in error.message
    notebook.namespace["log"].close()


@pytest.mark.parametrize(
    ("cell_source", "line", "problem"),
    [
        ("x = (1,\n", 2, "'(' was never closed"),
        ("x = 1\nfor\n", 3, "invalid syntax"),
        ("x = 1\n!ls\n", 3, "notebook command"),
        ("return 3", 2, "'return' outside function"),
    ],
)
def test_a_syntax_error_is_refused_with_its_line(
    notebook: Notebook, cell_source: str, line: int, problem: str
) -> None:
    error = refused(lambda: notebook.launch(cell_source))
    assert error.code == "syntax_error"
    assert error.facts["line"] == line
    assert problem in error.message


def test_an_empty_cell_and_an_unknown_name_to_send_are_refused(notebook: Notebook) -> None:
    assert refused(lambda: notebook.launch("# nothing")).code == "bad_request"
    assert refused(lambda: notebook.launch("x = 1", send=["nope"])).value == "nope"


def test_C40_a_global_a_class_a_lambda_and_a_closure_work_in_two_ranks(notebook: Notebook, gang: Any) -> None:
    notebook.run("import os\nLR = 0.5")
    notebook.run("class Config:\n    def __init__(self, rate): self.rate = rate\nconfig = Config(LR)")
    notebook.run("double = lambda x: 2 * x")
    notebook.run(
        "def make(k):\n    def scale(x):\n        return k * x * LR\n    return scale\nscale = make(10)"
    )
    notebook.run("def train():\n    assert isinstance(config, Config)\n    return scale(double(config.rate))")
    bundle = notebook.launch("print('result', train(), os.environ['RANK'], os.environ['WORLD_SIZE'])")
    job = gang("pass", nodes=2)
    (job.order.out.parent / "bundle.zip").write_bytes(bundle.pack())
    job.run()
    assert job.status["state"] == "succeeded", (job.log(0), job.said)
    assert job.log(0).strip() == "result 5.0 0 2"
    assert job.log(1).strip() == "result 5.0 1 2"
    assert notebook.namespace["config"].rate == 0.5


def test_two_names_of_one_object_stay_one_object(notebook: Notebook, gang: Any) -> None:
    notebook.run("shared = [1]\nfirst = {'list': shared}\nsecond = {'list': shared}")
    job = gang("pass")
    bundle = notebook.launch("print(first['list'] is second['list'])")
    (job.order.out.parent / "bundle.zip").write_bytes(bundle.pack())
    assert job.run().log(0).strip() == "True"


def test_a_traceback_points_at_the_cell_its_line_and_its_source(notebook: Notebook, gang: Any) -> None:
    notebook.run("import json\n\ndef helper(x):\n    return 1 / x")
    job = gang("pass")
    bundle = notebook.launch("value = 0\nhelper(value)")
    (job.order.out.parent / "bundle.zip").write_bytes(bundle.pack())
    job.run()
    assert "Cell In[2], line 3, in <module>\n    helper(value)" in job.log(0)
    assert "Cell In[1], line 4, in helper\n    return 1 / x" in job.log(0)
    assert job.status["first_failure"]["where"] == "In[1], line 4"


def test_own_modules_beside_the_notebook_travel_and_installed_ones_do_not(
    notebook: Notebook, gang: Any
) -> None:
    (notebook.folder / "helpers.py").write_text("from deeper import tool\ndef go(): return tool.answer\n")
    (notebook.folder / "deeper").mkdir()
    (notebook.folder / "deeper" / "__init__.py").write_text("")
    (notebook.folder / "deeper" / "tool.py").write_text("answer = 42\n")
    bundle = notebook.launch("import numpy, json\nimport helpers\nprint(helpers.go())")
    assert sorted(bundle.files) == ["deeper/__init__.py", "deeper/tool.py", "helpers.py"]
    job = gang("pass")
    (job.order.out.parent / "bundle.zip").write_bytes(bundle.pack())
    assert job.run().log(0).strip() == "42"


def test_cells_with_notebook_commands_still_define_what_they_define() -> None:
    one = cell(3, "%%time\n%matplotlib inline\nfiles = !ls\nimport math\nmath?\ndef f(): return math.pi")
    assert [name for s in one.statements for name in sorted(s.names.bound)] == ["files", "math", "f"]
    assert one.statements[-1].first_line == 6
    assert cell(4, "%%bash\nls").statements == ()
    assert [s.names.bound for s in cell(5, "x = await f()").statements] == [frozenset({"x"})]


def test_the_same_notebook_gives_the_same_bundle(notebook: Notebook) -> None:
    notebook.run("a = 1\nb = [2]\ndef f(): return a, b")
    packed = [bundles.digest(notebook.launch("f()").pack()) for _ in range(2)]
    assert packed[0] == packed[1]


def test_a_module_bound_by_a_try_travels_as_a_value(notebook: Notebook) -> None:
    notebook.run("try:\n    import json as fast\nexcept ImportError:\n    fast = None")
    bundle = notebook.launch("fast.dumps([])")
    assert bundle.chunks[0] == Value("fast")
    assert isinstance(next(bundles.values(bundle)), ModuleType)


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_every_name_is_either_bound_before_or_needed(chain: list[str], choice: random.Random) -> None:
    """A chain of assignments, each reading any name: needed are those read before they were bound."""
    bound: set[str] = set()
    expected: set[str] = set()
    lines = []
    for name in chain:
        read = choice.choice("abcde")
        if read not in bound:
            expected.add(read)
        bound.add(name)
        lines.append(f"{name} = [{read}]")
    found = names.of_code(compile("\n".join(lines), "<test>", "exec"))
    assert (found.needed, found.bound) == (expected, bound)


def test_a_lock_held_by_a_thread_and_an_array_are_told_apart(notebook: Notebook) -> None:
    notebook.namespace |= {"lock": threading.RLock(), "small": np.ones(3)}
    assert refused(lambda: notebook.launch("lock, small")).value == ["lock"]
