"""Row `plan_error`: what plans say that a switch takes against what it took, over switches of several sizes.

The first switch of a deployment is guessed from a probe of the disk; each later one is learned from those before it.
"""

from __future__ import annotations

from contextlib import closing

from gearshift.kernel import Kernel
from gearshift.model.operation import Operation

from benchmarks.measure import Figures, record
from benchmarks.ours import Ours

MEGABYTES = (0, 50, 400, 0, 200, 600, 100, 400, 20, 600, 300, 0, 200)
SHARE, SECONDS, GOAL = 0.25, 1.0, 1.0


def main() -> None:
    with closing(Ours()) as ours:
        kernel = Kernel(ours.start("mei"), ours.tokens["mei"], "bench.ipynb")
        kernel.run("import numpy as np")
        found: list[tuple[int, float, float]] = []
        for turn, size in enumerate(MEGABYTES):
            kernel.run(f"held = np.arange({size * 125_000}) % 251")
            done = ours.switch("mei", "cpu-small" if turn % 2 else "sim-1")
            kernel.disconnect()
            found.append((size, *seconds(done)))
    print("   size   expected       took      error")
    for size, expected, took in found:
        print(f"{size:4d} MB {expected:8.2f} s {took:8.2f} s {took / expected - 1:+9.0%}")
    good = [abs(took - expected) <= max(SECONDS, SHARE * took) for _, expected, took in found]
    ratio = sum(good) / len(good)
    print(
        f"plan_error: {sum(good)} of {len(good)} within 25 % or 1 s (goal: all): {'ok' if all(good) else 'short'}"
    )
    measured, planned = (
        Figures("took", [row[2] for row in found]),
        Figures("expected", [row[1] for row in found]),
    )
    record("plan_error", measured, planned, ratio, GOAL)


def seconds(op: Operation) -> tuple[float, float]:
    """Expected and taken."""
    assert op.expected is not None
    assert op.ended_at is not None
    return sum(op.expected.values()), (op.ended_at - op.created_at).total_seconds()
