"""CPU and memory change under a workspace that runs: nothing is stopped, a cell computes on, what is known follows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from gearshift.kernel import Kernel
from gearshift_testing.driving import Driver, until
from gearshift_testing.evidence import intervals, trees_of
from gearshift_testing.running import Running

NAME = "growing"
GIB = 1 << 30

COUNTING = """
import os, json
seen = []
while not os.path.exists("end-of-counting"):
    seen.append((os.getpid(), len(os.sched_getaffinity(0))))
    with open("counted.part", "w") as file:
        file.write(str(len(seen)))
    os.replace("counted.part", "counted")
print(json.dumps([len(seen), sorted({pid for pid, _ in seen})]))
"""

FACTS = """
import json, os, resource
import numpy, threadpoolctl
names = ["GEARSHIFT_MACHINE", "GEARSHIFT_CPUS", "GEARSHIFT_MEMORY_BYTES", "OMP_NUM_THREADS"]
print(json.dumps({
    "pid": os.getpid(),
    "env": [os.environ.get(name) for name in names],
    "data": resource.getrlimit(resource.RLIMIT_DATA)[0],
    "pools": sorted({pool["num_threads"] for pool in threadpoolctl.threadpool_info()}),
}))
"""


@pytest.fixture(scope="module")
def mei(running: Running) -> Iterator[Driver]:
    """A person with a small workspace."""
    driver = Driver(running, "mei-grows")
    driver.start(NAME, "cpu-tiny")
    yield driver
    driver.stop(NAME)


def kernel(mei: Driver, path: str) -> Kernel:
    return Kernel(mei.product.server(mei.user, NAME), mei.product.sign_in(mei.user), path)


def facts(notebook: Kernel) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(notebook.run(FACTS).text.splitlines()[-1])
    return said


class Counting:
    """A cell that counts without a pause until it is told to end."""

    def __init__(self, mei: Driver, notebook: Kernel) -> None:
        self._mei, self._notebook = mei, notebook
        self._said: list[str] = []
        self._thread = threading.Thread(
            target=lambda: self._said.append(notebook.run(COUNTING, timeout=120).text)
        )
        self._thread.start()
        until(self.count, 60, "the cell counts")

    def count(self) -> int:
        answer = self._mei.server(NAME, "files/counted")
        return int(answer.text) if answer.is_success else 0

    def end(self) -> tuple[int, list[int]]:
        """How far it came, and the processes that counted."""
        body = {"type": "file", "format": "text", "content": ""}
        assert self._mei.server(NAME, "api/contents/end-of-counting", "PUT", body).is_success
        self._thread.join(60)
        counted, pids = json.loads(self._said[0])
        return counted, pids


def test_a_cell_computes_on_while_its_machine_becomes_another(mei: Driver) -> None:
    with closing(kernel(mei, "busy.ipynb")) as busy, closing(kernel(mei, "idle.ipynb")) as idle:
        before, busy_before = facts(idle), facts(busy)
        (tree,) = trees_of(mei, NAME)
        counting = Counting(mei, busy)
        plan = mei.plan("switch", workspace=f"{mei.user}/{NAME}", machine="cpu-large").json()
        assert plan["figures"]["mode"] == "live"
        operation = mei.done(mei.confirm(plan))
        reached = counting.count()
        until(lambda: counting.count() > reached, 60, "it goes on after the change")
        counted, pids = counting.end()
        assert operation["kind"] == "resize"
        assert counted > reached
        assert pids == [busy_before["pid"]]
        assert [one.name for one in trees_of(mei, NAME)] == [tree.name]
        after = facts(idle)
        assert after["pid"] == before["pid"]
        assert before["env"] == ["cpu-tiny", "1", str(GIB // 2), "1"]
        assert after["env"] == ["cpu-large", "4", str(4 * GIB), "4"]
        assert (before["data"], after["data"]) == (GIB // 2, 4 * GIB)
        assert (before["pools"], after["pools"]) == ([1], [4])
        late = until(
            lambda: found if (found := facts(busy))["pools"] == [4] else None, 60, "the busy one follows"
        )
        assert late["env"] == after["env"]


def test_price_and_lease_changed_at_one_instant_and_everything_knows_the_new_machine(mei: Driver) -> None:
    first, second = intervals(mei, NAME)
    assert (first["machine"], second["machine"]) == ("cpu-tiny", "cpu-large")
    assert first["closed_at"] == second["opened_at"]
    assert second["closed_at"] is None
    assert mei.workspace(NAME)["spec"]["machine"] == "cpu-large"
    shown = mei.server(NAME, "gearshift/metrics").json()
    assert (shown["machine"], shown["memory_limit_bytes"], shown["cpus"]) == ("cpu-large", 4 * GIB, 4.0)
    with closing(kernel(mei, "new.ipynb")) as new:
        born = facts(new)
    assert born["env"] == ["cpu-large", "4", str(4 * GIB), "4"]


def test_a_machine_smaller_than_what_is_in_use_is_refused_and_nothing_changes(mei: Driver) -> None:
    with closing(kernel(mei, "holds.ipynb")) as holding:
        holding.run("held = b'x' * (600 << 20)")
        refused = mei.plan("switch", workspace=f"{mei.user}/{NAME}", machine="cpu-tiny")
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (409, "memory_in_use")
        assert error["facts"]["in_use_bytes"] > 600 << 20
        assert holding.run("print(len(held))").text.strip() == str(600 << 20)
        assert mei.workspace(NAME)["spec"]["machine"] == "cpu-large"
        holding.run("del held")
    assert mei.switch(NAME, "cpu-small")["kind"] == "resize"


def test_nobody_but_control_tells_a_server_what_its_machine_is(mei: Driver) -> None:
    body = {"machine": "cpu-large", "cpus": 64, "memory_bytes": 1 << 40, "threads": 64}
    answer = mei.server(NAME, "gearshift/machine", "PUT", body)
    assert answer.status_code == 403, answer.text
    assert mei.server(NAME, "gearshift/machine").json()["machine"] == "cpu-small"
