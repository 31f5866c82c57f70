"""The fault matrix on the real thing: real processes killed with -9 while a gate holds a real switch at a step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
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
            self._run(f"import os; kept = {self.kept}; file = open('held', 'w'); print(os.getpid())")
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

    def kill_server(self, tree: str) -> None:
        """Every process of a tree, frozen or not."""
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
        said = self._run("print(kept, os.getpid(), 'file' in dir() and not file.closed)").split()
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

    def _run(self, code: str) -> str:
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


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """A deployment whose control has gates, for all cells."""
    product = products.start(module="gearshift_testing.gated_supervisor")
    try:
        driver = Driver(product, "faye")
        driver.start("work")
        yield Bench(driver, product)
    finally:
        code = product.stop()
        product.remove()
    assert code == 0


@pytest.fixture(autouse=True)
def _ready(bench: Bench) -> None:
    bench.ready()


def test_control_killed_at_save_stop_start_and_restore_goes_on_from_each(bench: Bench) -> None:
    points: list[Point] = [("forward", step, "begun") for step in ("save", "stop", "start", "restore")]
    operation = bench.switch(*points)
    for point in points:
        bench.at(point, lambda: bench.kill("control"))
    bench.is_new(operation)


def test_a_hub_that_crashes_between_stop_and_start_is_waited_for(bench: Bench) -> None:
    operation = bench.switch(("forward", "stop", "done"), ("forward", "start", "begun"))
    bench.at(("forward", "stop", "done"), lambda: bench.kill("hub"))
    bench.at(("forward", "start", "begun"), lambda: bench.kill("hub"))
    bench.is_new(operation)


def test_a_proxy_killed_at_start_is_started_again_with_its_routes(bench: Bench) -> None:
    operation = bench.switch(("forward", "start", "begun"))
    bench.at(("forward", "start", "begun"), lambda: bench.kill("traefik"))
    ended = bench.ended(operation)
    done = ended["state"] == "done"
    bench.is_on(OTHER[bench.machine] if done else bench.machine, same_process=not done)


def test_a_new_server_killed_after_its_start_leaves_the_old_one_as_it_was(bench: Bench) -> None:
    operation = bench.switch(("forward", "start", "done"))
    bench.at(("forward", "start", "done"), lambda: bench.kill_server(bench.driver.state("work")["tree"]))
    bench.is_as_it_was(operation)


def test_a_new_server_killed_at_restore_and_control_on_the_way_back_change_nothing(bench: Bench) -> None:
    operation = bench.switch(("forward", "restore", "begun"), ("back", "stop", "begun"))
    bench.at(("forward", "restore", "begun"), lambda: bench.kill_server(bench.driver.state("work")["tree"]))
    bench.at(("back", "stop", "begun"), lambda: bench.kill("control"))
    bench.is_as_it_was(operation)


def test_an_old_server_killed_while_frozen_is_not_missed(bench: Bench) -> None:
    old = bench.driver.state("work")["tree"]
    operation = bench.switch(("forward", "stop", "done"))
    bench.at(("forward", "stop", "done"), lambda: bench.kill_server(old))
    bench.is_new(operation)


def test_an_old_server_killed_while_frozen_starts_again_with_what_was_saved(bench: Bench) -> None:
    old = bench.driver.state("work")["tree"]
    operation = bench.switch(("forward", "start", "done"))

    def both() -> None:
        bench.kill_server(bench.driver.state("work")["tree"])
        bench.kill_server(old)

    bench.at(("forward", "start", "done"), both)
    ended = bench.ended(operation)
    assert ended["result"]["back"]["how"] == "started again"
    bench.is_on(bench.machine, same_process=False)


def test_a_kernel_killed_at_save_takes_only_itself(bench: Bench) -> None:
    other = Kernel(bench.product.server("faye", "work"), bench.product.sign_in("faye"), "other.ipynb")
    pid = int(other.run("import os; mine = 5; print(os.getpid())").text)
    other.close()
    operation = bench.switch(("forward", "save", "begun"))
    bench.at(("forward", "save", "begun"), lambda: os.kill(pid, signal.SIGKILL))
    bench.is_new(operation)


@pytest.mark.root
def test_a_disk_that_is_full_or_read_only_at_save_changes_nothing(bench: Bench) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    bench.driver.stop("work")
    with _small_disk(bench) as disk:
        bench.ready()
        bench._run("big = os.urandom(12 * 2**20)")
        for options, says in (("rw,size=8m", "full"), ("ro", "Read-only")):
            operation = bench.switch(("forward", "save", "begun"))
            remount = ["mount", "-o", f"remount,{options}", str(disk)]
            bench.at(
                ("forward", "save", "begun"), lambda remount=remount: subprocess.run(remount, check=True)
            )
            ended = bench.ended(operation)
            assert says in ended["error"]["message"]
            bench.is_on(bench.machine, same_process=True)
        subprocess.run(["mount", "-o", "remount,rw,size=64m", str(disk)], check=True)
        bench.driver.stop("work")


def test_an_old_server_killed_at_save_ends_the_workspace_and_nothing_is_charged_after(bench: Bench) -> None:
    operation = bench.switch(("forward", "save", "begun"))
    bench.at(("forward", "save", "begun"), lambda: bench.kill_server(bench.driver.state("work")["tree"]))
    assert bench.ended(operation)["state"] == "failed"
    assert bench.driver.workspace("work")["state"] in ("failed", "stopped")
    bench.ready()


def test_control_killed_at_reserve_verify_and_release_goes_on_from_each(bench: Bench) -> None:
    points: list[Point] = [("forward", step, "begun") for step in ("reserve", "verify", "release")]
    with ThreadPoolExecutor(1) as aside:
        asked = aside.submit(bench.switch, *points)
        bench.at(points[0], lambda: bench.kill("control"))
        asked.exception()  # the answer went with the control that was asked
    newest = until(lambda: _newest(bench), BACK_S, "control is back")
    for point in points[1:]:
        bench.at(point, lambda: bench.kill("control"))
    bench.is_new(newest)


def _newest(bench: Bench) -> Any:
    with suppress(httpx.TransportError):
        answer = bench.driver.call("GET", "operations?workspace=faye/work")
        if answer.status_code == 200:
            return answer.json()[0]
    return None


@contextmanager
def _small_disk(bench: Bench) -> Iterator[Path]:
    """The folder of the workspace's kernel state on a disk of its own."""
    (place,) = [
        folder for folder in bench.product.home.kernels.iterdir() if (folder / "cookie_secret").exists()
    ]
    owner = place.stat()
    options = f"size=64m,mode=0700,uid={owner.st_uid},gid={owner.st_gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
