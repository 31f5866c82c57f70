"""C37: interrupt, restart or death of a kernel never leaves workers: an attached job ends, a detached one goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from gearshift.kernel import Kernel, KernelError
from gearshift_hub.backends.local.processes import Trees
from gearshift_testing import submitting
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running

NAME = "attached"
GONE = "the end of its kernel"
RANKS = """%%gearshift --nodes 2 --procs 2 --machine cpu-small --max-price 10 --max-cost 1 {options}
import time
print("up", flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def ida(running: Running) -> Iterator[Driver]:
    driver = Driver(running, "ida-attached")
    driver.start(NAME)
    yield driver
    driver.stop(NAME)


@pytest.fixture
def kernel(ida: Driver) -> Iterator[Kernel]:
    """A notebook with our magics and a token that may spend."""
    made = Kernel(ida.product.server(ida.user, NAME), ida.product.sign_in(ida.user))
    with closing(made):
        token = ida.product.sign_in(ida.user)
        made.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {token!r}", silent=True)
        made.run("%load_ext gearshift")
        yield made


@pytest.fixture
def cells() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def launched(ida: Driver, kernel: Kernel, cells: ThreadPoolExecutor, options: str) -> tuple[str, Future[Any]]:
    """The cell, running, and its job once all its ranks are up."""
    before = {job["id"] for job in ida.get("jobs")}
    cell = cells.submit(kernel.run, RANKS.format(options=options), 120)
    job = until(
        lambda: next((j["id"] for j in ida.get("jobs") if j["id"] not in before), None), 60, "a job is there"
    )
    for rank in range(4):
        until(lambda rank=rank: "up" in submitting.log_of(ida, job, rank), 60, f"rank {rank} is up")
    return job, cell


def processes(ida: Driver, job: str) -> list[str]:
    return [tree.name for tree in Trees(ida.product.home).trees() if tree.labels.get("job") == job]


def test_c37_an_interrupt_ends_the_attached_job_and_a_second_one_is_no_fault(
    ida: Driver, kernel: Kernel, cells: ThreadPoolExecutor
) -> None:
    job, cell = launched(ida, kernel, cells, "--attach")
    for _ in range(2):
        ida.server(NAME, f"api/kernels/{kernel.kernel_id}/interrupt", "POST").raise_for_status()
    with pytest.raises(KernelError) as said:
        cell.result(60)
    ended = submitting.ended(ida, job)
    assert (ended["state"], ended["ended_by"]) == ("cancelled", ida.user)
    assert processes(ida, job) == []
    assert said.value.name == "JobFailedError"
    assert f"Cancelled by {ida.user}" in said.value.value
    assert kernel.run("print(1 + 1)").text == "2\n"


@pytest.mark.parametrize(
    "end", ["restart", "kill"]
)  # a restart interrupts first, so that the cell itself may tell
def test_c37_a_kernel_that_is_gone_takes_its_attached_job_along(
    ida: Driver, kernel: Kernel, cells: ThreadPoolExecutor, end: str
) -> None:
    pid = int(kernel.run("print(os.getpid())").text)
    job, cell = launched(ida, kernel, cells, "--attach")
    detached = submitting.submit(ida, "import time; time.sleep(600)", machine="cpu-small")
    if end == "restart":
        ida.server(NAME, f"api/kernels/{kernel.kernel_id}/restart", "POST").raise_for_status()
    else:
        os.kill(pid, signal.SIGKILL)
    kernel.disconnect()
    ended = submitting.ended(ida, job)
    assert ended["state"] == "cancelled"
    assert ended["ended_by"] in {"restart": (ida.user, GONE), "kill": (GONE,)}[end]
    assert processes(ida, job) == []
    assert ida.get(f"jobs/{detached}")["state"] in ("starting", "running")
    ida.begin("cancel_job", job=detached)
    submitting.ended(ida, detached)
    cell.cancel()


def test_c37_a_detached_job_survives_its_kernel_and_is_found_again_with_its_log(
    ida: Driver, kernel: Kernel, cells: ThreadPoolExecutor
) -> None:
    job, cell = launched(ida, kernel, cells, "")
    cell.result(60)
    ida.server(NAME, f"api/kernels/{kernel.kernel_id}/restart", "POST").raise_for_status()
    kernel.disconnect()
    kernel.run("%load_ext gearshift", 60)
    assert "up" in kernel.run(f"%gearshift logs {job} --rank 3").text
    assert ida.get(f"jobs/{job}")["state"] == "running"
    ida.begin("cancel_job", job=job)
    assert submitting.ended(ida, job)["state"] == "cancelled"
    assert processes(ida, job) == []
