"""C28: jobs of several nodes are admitted all or nothing: two that need the whole pool never hold a half of it each."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gearshift_hub.backends.local.processes import Trees
from gearshift_testing import submitting
from gearshift_testing.driving import Driver, until

Person = Callable[[str], Driver]

WAITS = """
import os, time
print(os.getcwd(), flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
"""
SHAPE = {"machine": "sim-1", "nodes": 4}
"""All four devices of the pool; no machine of the tests has two."""


@pytest.fixture
def ira(person: Person) -> Iterator[Driver]:
    driver = person("ira-all-or-nothing")
    yield driver
    for job in driver.get("jobs"):
        if job["state"] not in submitting.ENDED:
            driver.begin("cancel_job", job=job["id"])
            submitting.ended(driver, job["id"])


def held(driver: Driver) -> int:
    machines = {one["id"]: one for one in driver.get("catalog")["machines"]}
    return int(machines["sim-1"]["total"] - machines["sim-1"]["free"])


def test_c28_two_jobs_that_need_the_whole_pool_run_one_after_the_other(ira: Driver) -> None:
    samples = {held(ira)}

    def sampled(found: Callable[[], Any], what: str) -> Any:
        def look() -> Any:
            samples.add(held(ira))
            return found()

        return until(look, 60, what)

    first, second = submitting.submit(ira, WAITS, **SHAPE), submitting.submit(ira, WAITS, **SHAPE)
    folder = sampled(lambda: submitting.log_of(ira, first, 3).strip(), "the first job's last rank is up")
    waiting = ira.get(f"jobs/{second}")
    assert waiting["state"] == "queued"
    place = waiting["queue"]
    assert (place["position"], place["needs"], place["free"], place["after"]) == (1, 4, 0, first)
    (Path(folder) / "go").touch()
    for job in (first, second):
        ended = sampled(lambda job=job: submitting.if_ended(ira, job), f"{job} ends")
        assert ended["state"] == "succeeded"
    assert until(lambda: held(ira) == 0, 60, "all is given back")
    (Path(folder) / "go").unlink()
    assert samples <= {0, 4}
    began, gone = ira.get(f"jobs/{second}")["started_at"], ira.get(f"jobs/{first}")["ended_at"]
    assert began >= gone


def test_c28_a_node_that_is_lost_while_the_job_starts_gives_everything_back_and_the_next_one_starts(
    ira: Driver,
) -> None:
    first, second = submitting.submit(ira, WAITS, **SHAPE), submitting.submit(ira, WAITS, **SHAPE)
    os.kill(until(lambda: keeper(ira, first, 1), 60, "the second node is there"), signal.SIGKILL)
    ended = submitting.ended(ira, first)
    assert (ended["state"], ended["reason"], ended["first_failure"]["node"]) == ("failed", "node_lost", 1)
    folder = until(lambda: submitting.log_of(ira, second, 3).strip(), 60, "the second job runs")
    assert ira.get(f"jobs/{second}")["state"] in ("starting", "running")
    (Path(folder) / "go").touch()
    assert submitting.ended(ira, second)["state"] == "succeeded"
    (Path(folder) / "go").unlink()


def keeper(driver: Driver, job: str, node: int) -> int | None:
    """The process that stands for a node of this job."""
    trees = [tree for tree in Trees(driver.product.home).trees() if tree.labels.get("job") == job]
    for pid in (pid for tree in trees for pid in tree.pids):
        try:
            if (Path("/proc") / str(pid) / "comm").read_text().strip() == f"gs-node-{node}":
                return pid
        except OSError:
            continue
    return None
