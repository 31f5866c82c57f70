"""What every backend keeps of a workspace, by its public doors alone: start, home, limits, moves, stops, what is charged."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from gearshift.kernel import Kernel
from gearshift_testing.driving import Driver, until
from gearshift_testing.evidence import intervals
from gearshift_testing.running import Running

Person = Callable[[str], Driver]
Kernels = Callable[..., Kernel]


def write(driver: Driver, workspace: str, name: str, text: str) -> None:
    body = {"type": "file", "format": "text", "content": text}
    assert driver.server(workspace, f"api/contents/{name}", "PUT", body).is_success


def said(kernel: Kernel, code: str) -> str:
    return kernel.run(code, timeout=60).text.strip()


def test_a_home_outlives_its_workspaces_and_is_nobody_elses(
    person: Person, kernel: Kernels, running: Running
) -> None:
    ann, bob = person("conform-ann"), person("conform-bob")
    ann.start("first")
    write(ann, "first", "mine.txt", "of ann")
    home = said(kernel(ann, "first"), "import os; print(os.path.expanduser('~'))")
    ann.stop("first")
    bob.start("other")
    look = f"import os; print(os.path.exists({home + '/mine.txt'!r}))"
    assert said(kernel(bob, "other"), look) == "False"
    bob.stop("other")
    ann.start("second")
    assert ann.server("second", "files/mine.txt").text == "of ann"
    foreign = {"Authorization": f"token {running.sign_in(bob.user)}"}
    address = f"{running.server(ann.user, 'second')}api/contents/mine.txt"
    assert httpx.get(address, headers=foreign, timeout=30).status_code == 403


def test_it_is_charged_from_ready_to_stop_and_runs_as_no_root(person: Person, kernel: Kernels) -> None:
    ann = person("conform-ann")
    ann.start("paid")
    assert said(kernel(ann, "paid"), "import os; print(os.getuid() >= 1000)") == "True"
    (interval,) = intervals(ann, "paid")
    assert interval["closed_at"] is None
    stopped = ann.stop("paid")
    (interval,) = intervals(ann, "paid")
    assert (stopped["state"], interval["closed_at"] is not None) == ("stopped", True)
    assert ann.state("paid")["ready"] is False


def test_more_cpu_and_memory_come_to_the_running_server(person: Person, kernel: Kernels) -> None:
    ann = person("conform-ann")
    before = ann.start("grows")
    notebook = kernel(ann, "grows")
    pid = said(notebook, "import os; print(os.getpid()); kept = 41")
    ann.switch("grows", "cpu-large")
    assert said(notebook, "print(os.getpid(), kept + 1)") == f"{pid} 42"
    assert said(notebook, "print(os.environ['GEARSHIFT_MACHINE'])") == "cpu-large"
    after = ann.workspace("grows")
    assert (before["spec"]["machine"], after["spec"]["machine"]) == ("cpu-small", "cpu-large")
    prices = [interval["price_per_hour_nano"] for interval in intervals(ann, "grows")]
    assert prices == [100_000_000, 200_000_000]


def test_variables_travel_to_a_machine_with_a_chip(person: Person, kernel: Kernels) -> None:
    ann = person("conform-ann")
    ann.start("moves")
    kernel_id = kernel(ann, "moves").kernel_id
    assert said(kernel(ann, "moves"), "table = list(range(100_000)); print(len(table))") == "100000"
    ann.switch("moves", "sim-1")
    assert said(kernel(ann, "moves"), "print(sum(table))") == str(sum(range(100_000)))
    assert ann.workspace("moves")["spec"]["machine"] == "sim-1"
    assert kernel_id in {one["id"] for one in ann.server("moves", "api/kernels").json()}


def test_a_server_that_dies_is_told_and_not_charged_any_longer(person: Person, kernel: Kernels) -> None:
    ann = person("conform-ann")
    ann.start("dies")
    kernel(ann, "dies").send("import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
    until(lambda: ann.workspace("dies")["state"] in ("failed", "stopped"), 60, "it is told")
    assert intervals(ann, "dies")[-1]["closed_at"] is not None
    assert ann.start("dies")["state"] == "ready"


def test_a_stop_of_what_is_stopped_is_success(person: Person) -> None:
    ann = person("conform-ann")
    ann.start("twice")
    assert ann.stop("twice")["state"] == "stopped"
    answer = ann.product.hub("POST", f"gearshift/workspaces/{ann.user}/twice/stop", {"operation": "again"})
    assert answer.json() == {"state": "stopped"}
