"""Row `metrics_cost`: what `train.log(step=…, loss=…)` costs a training step, with another process reading the pipe.

The best run counts: other work on the machine can only make a line slower.
"""

from __future__ import annotations

import os
import subprocess
import time

from gearshift import train

from benchmarks.measure import Figures, record

LINES, RUNS, GOAL_US = 10_000, 20, 20.0


def main() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reader:
        assert reader.stdin is not None
        os.environ["GS_METRICS_FD"] = str(reader.stdin.fileno())
        values = [microseconds() for _ in range(RUNS)]
    cost, best = Figures("a line", values, "us"), min(values)
    print(cost)
    print(
        f"metrics_cost: {best:.1f} us a line (goal <= {GOAL_US:.0f}): {'ok' if best <= GOAL_US else 'short'}"
    )
    record("metrics_cost", cost, Figures("goal", [GOAL_US], "us"), best / GOAL_US, 1.0)


def microseconds() -> float:
    began = time.perf_counter()
    for step in range(LINES):
        train.log(step=step, loss=1 / (step + 1))
    return (time.perf_counter() - began) / LINES * 1e6
