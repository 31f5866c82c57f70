"""Real switches that are held at a step while real processes are killed, and what must be true of them afterwards."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import httpx
from gearshift.kernel import Kernel

from gearshift_testing import running as products
from gearshift_testing.driving import ENDED, Driver, until
from gearshift_testing.evidence import intervals, trees_of
from gearshift_testing.gated_control import gate_file
from gearshift_testing.gates import Point
from gearshift_testing.running import Running

BACK_S = 90.0
"""A part that was killed is there again, on a box that does other things as well."""
OTHER = {"cpu-small": "sim-1", "sim-1": "cpu-small"}


@dataclass
class Bench:
    """One person's workspace on a product whose switches can be held, and what its kernel holds."""

    driver: Driver
    product: Running
    machine: str = "cpu-small"
    kept: int = 0
    pid: int = 0

    def kernel(self) -> Kernel:
        return Kernel(self.product.server("faye", "work"), self.product.sign_in("faye"), "a.ipynb")

    def ready(self) -> None:
        """Running, with a new value in the kernel and a file that it holds open."""
        if self.driver.workspace("work")["state"] != "ready":
            self.driver.start("work", self.machine)
        self.machine = self.driver.workspace("work")["spec"]["machine"]
        self.kept += 1
        self.pid = int(
            self.run(f"import os; kept = {self.kept}; file = open('held', 'w'); print(os.getpid())")
        )

    def switch(self, *gates: Point) -> Any:
        """Begin a switch to the other machine, which stops at these gates."""
        for point in gates:
            file = gate_file(self.product.home, point)
            file.parent.mkdir(exist_ok=True)
            file.with_suffix(".reached").unlink(missing_ok=True)
            file.touch()
        return self.driver.begin("switch", workspace="faye/work", machine=OTHER[self.machine])

    def at(self, point: Point, strike: Callable[[], object]) -> None:
        """Once the switch has come to this gate: strike, and let it go on."""
        gate = gate_file(self.product.home, point)
        reached = gate.with_suffix(".reached")
        until(reached.exists, BACK_S, f"the switch comes to {point}")
        strike()
        gate.unlink()

    def kill(self, part: str) -> None:
        """-9; the supervisor starts it again."""
        record = self.product.home.run / f"{part}.pid.json"
        pid = json.loads(record.read_text())["pid"]
        os.kill(pid, signal.SIGKILL)
        until(lambda: json.loads(record.read_text())["pid"] != pid, BACK_S, f"{part} is started again")

    def kill_server(self, tree: str | None = None) -> None:
        """Every process of a tree, frozen or not; of the one that the hub says runs."""
        tree = tree or self.driver.state("work")["tree"]
        found = next(one for one in trees_of(self.driver, "work") if one.name == tree)
        for pid in found.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def ended(self, operation: Any) -> Any:
        """However it ended, once hub, proxy and control are there again and say the same."""
        found = until(lambda: self._ended(operation["id"]), BACK_S, "the operation ends")
        until(self._agree, BACK_S, "hub, control, box and ledger say the same")
        return found

    def is_on(self, machine: str, *, same_process: bool) -> None:
        """The state is there; the very process, with all it holds, where it was only frozen."""
        assert self.driver.workspace("work")["spec"]["machine"] == machine
        said = self.run("print(kept, os.getpid(), 'file' in dir() and not file.closed)").split()
        assert said[0] == str(self.kept)
        assert (said[1] == str(self.pid)) == same_process
        if same_process:
            assert said[2] == "True"

    def is_new(self, operation: Any) -> None:
        ended = self.ended(operation)
        assert ended["state"] == "done", ended
        self.is_on(OTHER[self.machine], same_process=False)

    def is_as_it_was(self, operation: Any) -> None:
        ended = self.ended(operation)
        assert ended["state"] == "failed", ended
        self.is_on(self.machine, same_process=True)

    def run(self, code: str) -> str:
        kernel = self.kernel()
        try:
            return kernel.run(code).text.strip()
        finally:
            kernel.close()

    def _ended(self, operation: str) -> Any:
        with suppress(httpx.TransportError):
            answer = self.driver.call("GET", f"operations/{operation}")
            if answer.status_code == 200 and answer.json()["state"] in ENDED:
                return answer.json()
        return None

    def _agree(self) -> bool:
        """One server, one lease, one open interval, or none of each; no gap and no overlap in what is charged."""
        try:
            workspace, state = self.driver.workspace("work"), self.driver.state("work")
            verified = self.product.internal("GET", "ledger/verify")
            server = self.driver.server("work", "api/status").status_code
        except (httpx.TransportError, AssertionError, KeyError):
            return False
        runs = 1 if workspace["state"] == "ready" else 0
        lines = intervals(self.driver, "work")
        open_now = [line for line in lines if line["closed_at"] is None]
        return (
            verified["ok"]
            and len(trees_of(self.driver, "work")) == len(open_now) == runs
            and state["ready"] == bool(runs)
            and (server == 200) == bool(runs)
            and not state["frozen"]
            and state["held_by"] is None
            and workspace["state"] in ("ready", "stopped", "failed")
            and all(a["closed_at"] <= b["opened_at"] for a, b in pairwise(lines))
        )


@contextmanager
def held_switches() -> Iterator[Bench]:
    """A deployment whose control has gates, with one workspace that runs; at the end nothing is left."""
    product = products.start(module="gearshift_testing.gated_supervisor")
    try:
        driver = Driver(product, "faye")
        driver.start("work")
        yield Bench(driver, product)
    finally:
        code = product.stop()
        product.remove()
    assert code == 0
