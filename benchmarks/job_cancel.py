"""Row `job_cancel`: cancel -> nothing left, of gangs whose ranks ignore SIGTERM and have forked, run and daemonised; 200
times. The goal is the grace and 1 s, and not one process left over."""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/support"))

from gearshift_testing.real_gangs import STUBBORN, Gang, gangs

from benchmarks.measure import Figures, record

TRIES, GRACE, ALLOWED_SECONDS = 200, 0.2, 1.0
PROCESSES = 8


def main() -> None:
    with gangs() as make:
        found = [one(make(STUBBORN, nodes=2, grace_seconds=GRACE, node_networks=True)) for _ in range(TRIES)]
    seconds, left = [took for took, _ in found], sum(count for _, count in found)
    took = Figures("cancel to nothing left", seconds)
    ok = took.median <= GRACE + ALLOWED_SECONDS and left == 0
    print(took)
    print(f"over the grace and 1 s: {sum(one > GRACE + ALLOWED_SECONDS for one in seconds)} of {TRIES}")
    print(
        f"job_cancel: {took.median:.2f} s, {left} left over of {TRIES * PROCESSES} processes "
        f"(goal <= {GRACE + ALLOWED_SECONDS:.1f} s, 0): {'ok' if ok else 'short'}"
    )
    peer = Figures("grace + 1 s", [GRACE + ALLOWED_SECONDS])
    record("job_cancel", took, peer, took.median / peer.median, 1.0)


def one(gang: Gang) -> tuple[float, int]:
    """Seconds from the cancel to the supervisor's end, and processes left then."""
    gang.start().until(lambda job: len(job.left()) == PROCESSES)
    assert gang.process is not None
    began = time.monotonic()
    gang.process.terminate()
    gang.wait()
    return time.monotonic() - began, len(gang.left())
