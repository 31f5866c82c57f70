"""A node of a gang has its own memory: what its ranks and their workers use is measured on real processes and held to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gearshift.model.chinese import in_chinese
from gearshift.train.gang import node_memory
from gearshift.train.gang.members import Member

Make = Callable[..., Any]
MB = 10**6
HOLDS = "held = bytearray({own} * 10**6)\n"
FORKS = r"""
import os, sys, signal
for _ in range({children}):
    if os.fork() == 0:
        more = bytearray({each} * 10**6)
        os.write(1, b"up\n")
        signal.pause()
os.write(1, b"up\n")
signal.pause()
"""


@contextmanager
def process(own: int, children: int = 0, each: int = 0) -> Iterator[int]:
    """Holds so many megabytes, as do its children; ready when all hold theirs."""
    code = HOLDS.format(own=own) + FORKS.format(children=children, each=each)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as held:
        assert held.stdout is not None
        try:
            for _ in range(children + 1):
                assert held.stdout.readline() == "up\n"
            yield held.pid
        finally:
            os.killpg(held.pid, 9)


def member(node: int, rank: int, pid: int) -> Member:
    return Member(node, (rank,), pid, pidfd=-1, log=Path("none"))


def test_ranks_of_a_node_count_together_and_the_largest_is_named() -> None:
    with process(30) as first, process(120) as second, process(150) as third:
        ranks = [member(0, 0, first), member(1, 1, second), member(1, 2, third)]
        found = node_memory.over(ranks, 250 * MB)
        assert found is not None
        assert (found.node, found.member.ranks) == (1, (2,))
        assert 270 * MB < found.node_bytes < 350 * MB
        assert node_memory.over(ranks, 400 * MB) is None


def test_workers_count_for_their_rank_and_what_they_share_counts_once() -> None:
    with process(100, children=3) as shared:
        assert node_memory.over([member(0, 0, shared)], 200 * MB) is None, "four times the same 100 MB"
    with process(10, children=3, each=100) as own:
        found = node_memory.over([member(0, 0, own)], 200 * MB)
        assert found is not None
        assert found.member_bytes > 300 * MB


def test_what_has_ended_counts_for_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    assert node_memory.over([member(0, 0, gone.pid)], 0) is None


def test_a_node_that_takes_more_than_it_has_ends_the_job_and_is_named(gang: Make) -> None:
    """No rank is over by itself, and all together stay below what the two nodes have."""
    job = gang(
        """
        import os, signal
        rank = int(os.environ["RANK"])
        held = bytearray((10, 10, 200, 260)[rank] * 10**6)
        signal.pause()
        """,
        nodes=2,
        procs=2,
        memory_bytes=400 * MB,
        max_restarts=3,
    ).run()
    failure = job.status["first_failure"]
    assert (job.status["state"], job.status["reason"], job.status["attempt"]) == ("failed", "oom", 0)
    assert (failure["node"], failure["rank"]) == (1, 3)
    said = r"node 1 used 0\.\d\d GB of its 0\.40 GB of memory; rank 3 the most, 0\.\d\d GB"
    assert re.fullmatch(said, failure["message"]), failure["message"]
    assert "节点 1 使用了" in in_chinese(failure["message"])
    assert job.process.returncode == 65
    assert job.left() == []
