"""C40: a function of the notebook goes by value to fresh processes; what cannot go is named before anything is leased."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from gearshift.kernel import Kernel, KernelError
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running

NAME = "functions"
CELLS = [
    "import gearshift, torch, os\nCOUNT = 3",
    "class Scale:\n    def __init__(self, by):\n        self.by = by\n    def of(self, x):\n        return self.by * x",
    "double = lambda x: 2 * x",
    "def adder(n):\n    def add(x):\n        return x + n\n    return add\nplus = adder(10)",
    "def train(start):\n"
    "    import torch.distributed as dist\n"
    "    from gearshift import train as gt\n"
    "    gt.init()\n"
    "    global COUNT\n"
    "    COUNT += dist.get_rank()\n"
    "    mine = plus(double(Scale(COUNT).of(start)))\n"
    "    found = [None] * dist.get_world_size()\n"
    "    dist.all_gather_object(found, (dist.get_rank(), mine))\n"
    "    return {'world': dist.get_world_size(), 'found': found}",
]
OPTIONS = "nodes=2, machine='cpu-small', max_price=10, max_cost=1"


@pytest.fixture(scope="module")
def uma(running: Running) -> Iterator[Driver]:
    driver = Driver(running, "uma-functions")
    driver.start(NAME)
    yield driver
    driver.stop(NAME)


@pytest.fixture(scope="module")
def kernel(uma: Driver) -> Iterator[Kernel]:
    with closing(Kernel(uma.product.server(uma.user, NAME), uma.product.sign_in(uma.user))) as made:
        token = uma.product.sign_in(uma.user)
        made.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {token!r}", silent=True)
        for cell in CELLS:
            made.run(cell)
        yield made


def test_c40_a_function_with_all_that_it_uses_runs_on_two_ranks_and_returns(kernel: Kernel) -> None:
    said = kernel.run(f"back = gearshift.run(train, 5, {OPTIONS})\nprint(back, COUNT)", 180).text
    assert said.splitlines()[-1] == "{'world': 2, 'found': [(0, 40), (1, 50)]} 3"


def test_c40_a_decorated_function_is_called_like_any_other(kernel: Kernel) -> None:
    kernel.run(f"@gearshift.distributed({OPTIONS})\ndef half(x, by=2):\n    return x / by")
    assert kernel.run("print(half(9, by=3))", 180).text.splitlines()[-1] == "3.0"


def test_c40_a_closure_and_a_model_come_and_go_by_value(kernel: Kernel) -> None:
    kernel.run("model = torch.nn.Linear(2, 1)\ndef state():\n    return model.state_dict()")
    said = kernel.run(
        f"back = gearshift.run(state, {OPTIONS})\n"
        "print(type(back['weight']).__name__, torch.equal(back['weight'], model.weight.data))\n"
        f"print(gearshift.run(adder(1), 41, {OPTIONS}))",
        180,
    ).text
    assert said.splitlines()[-2:] == ["Tensor True", "42"]


def test_c40_what_cannot_go_is_named_and_nothing_is_leased_or_charged(uma: Driver, kernel: Kernel) -> None:
    kernel.run(
        "import threading\nlog = open('log.txt', 'w')\nguard = threading.Lock()\n"
        "def careless():\n    with guard:\n        log.write('x')"
    )
    before = (len(uma.get("jobs")), uma.get("me")["balance_nano"])
    with pytest.raises(KernelError) as said:
        kernel.run(f"gearshift.run(careless, {OPTIONS})", 60)
    assert said.value.name == "MagicError"
    assert "guard" in said.value.value
    assert "log" in said.value.value
    assert len(uma.get("jobs")) == before[0]


def test_c40_no_nodes_are_no_default(uma: Driver, kernel: Kernel) -> None:
    before = len(uma.get("jobs"))
    with pytest.raises(KernelError, match="bad_nodes"):
        kernel.run("gearshift.run(train, 1, nodes=0, machine='cpu-small', max_price=10, max_cost=1)", 60)
    assert len(uma.get("jobs")) == before


def test_c40_arguments_may_go_by_name(kernel: Kernel) -> None:
    code = f"import functools\nprint(gearshift.run(functools.partial(adder(1), x=41), {OPTIONS}))"
    assert kernel.run(code, 180).text.splitlines()[-1] == "42"


def test_c40_a_wrong_option_names_itself(kernel: Kernel) -> None:
    with pytest.raises(KernelError, match="--nodse"):
        kernel.run("gearshift.run(train, 1, nodse=2)", 60)


def test_c40_a_fault_in_the_function_points_at_its_cell(kernel: Kernel) -> None:
    kernel.run("def wrong():\n    x = 1\n    return x / 0")
    with pytest.raises(KernelError) as said:
        kernel.run(f"gearshift.run(wrong, {OPTIONS})", 120)
    assert "ZeroDivisionError" in said.value.value
    assert any("line 3" in line and "In[" in line for line in said.value.traceback)
