"""C33: a gang meets whatever its first node is called and however late its name is known; a node that never comes is
named with its step, within one deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gearshift.train.gang import hosts
from gearshift.train.gang.order import NodePlace

Make = Callable[..., Any]

MEET = """
    import os, socket, time
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    family = socket.AF_INET6 if ":" in os.environ["MASTER_ADDR"] else socket.AF_INET
    place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank == 0:
        listener = socket.create_server(place, family=family)
        print("world", 1 + sum(bool(listener.accept()) for _ in range(world - 1)))
    else:
        while True:
            with socket.socket(family) as peer:
                if peer.connect_ex(place) == 0:
                    break
            time.sleep(0.02)
"""
ADDRESSES = ("127.0.0.1", "::1")
LATE = """
import os, time
while os.environ.get("NODE_RANK") == "1":
    time.sleep(1)
"""


def of_two(first: str) -> dict[str, Any]:
    return {"procs": 2, "nodes": (NodePlace(first), NodePlace("127.0.0.2"))}


@pytest.mark.parametrize("first", ["node-0.gang.cluster.example", "first-node", *ADDRESSES])
def test_c33_four_ranks_meet_whatever_the_first_node_is_called(gang: Make, first: str) -> None:
    """A name is made known only once all ranks wait for it."""
    job = gang(MEET, **of_two(first), job=f"{'n' * 70}-{time.time_ns()}").start()
    for rank in range(4):
        job.until(lambda job, rank=rank: job.pid_of_any(rank) or job.status.get("state") == "succeeded")
    with hosts.path(job.order).open("a") as file:
        file.write("" if first in ADDRESSES else f"127.0.0.1 {first}\n")
    assert job.wait() == 0, (job.status, job.log(0), job.log(3))
    assert job.log(0) == "world 4\n"


def test_c33_a_node_that_never_comes_is_named_with_the_step_it_stands_at(gang: Make, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(LATE)
    job = gang("print('began')", nodes=2, procs=2, join_seconds=6.0, env={"PYTHONPATH": str(tmp_path)})
    began = time.monotonic()
    assert job.run().process.returncode == 75
    assert time.monotonic() - began >= 6
    failure = job.status["first_failure"]
    assert (job.status["state"], job.status["reason"]) == ("failed", "did_not_join")
    assert [one["counts_as"] for one in job.status["attempts"]] == ["no-capacity"]
    assert (failure["node"], failure["rank"]) == (1, 2)
    assert failure["message"] == (
        "node 1 (127.0.0.2) did not join within 6 s: rank 2: its process did not begin"
    )
    assert job.left() == []


def test_c33_what_the_ranks_wait_for_is_told_while_they_wait(gang: Make) -> None:
    job = gang(MEET, **of_two("nobody.example")).start()
    told = ": the name 'nobody.example' of node 0 is not known (step: look-up)"
    job.until(lambda job: told in job.status.get("note", ""))
    assert job.status["state"] == "starting"
    job.process.terminate()
    assert job.wait() == 143
    assert job.left() == []
