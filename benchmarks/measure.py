"""Knows how a row is measured: ours and the peer alternate, medians with their spread, one line with the ratio."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results.jsonl"
PACKAGES = ("jupyterhub", "jupyterlab", "jupyter-server", "ipykernel", "torch")


class CannotMeasure(Exception):
    """The row cannot be measured here; the text says why."""


@dataclass(frozen=True)
class Figures:
    """Seconds (or another unit) of one side, in the order taken."""

    name: str
    values: list[float]
    unit: str = "s"

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        spread = f"min {min(self.values):.3f}, max {max(self.values):.3f}, n {len(self.values)}"
        return f"{self.name}: median {self.median:.3f} {self.unit} ({spread})"


def alternate(
    ours: Callable[[], float], peer: Callable[[], float], runs: int
) -> tuple[list[float], list[float]]:
    """`runs` pairs of measurements, ours first in even pairs, so that drift of the machine hits both."""
    mine: list[float] = []
    theirs: list[float] = []
    for turn in range(runs):
        pair = [(ours, mine), (peer, theirs)]
        for side, values in pair if turn % 2 == 0 else reversed(pair):
            values.append(side())
    return mine, theirs


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def report(
    row: str, ours: Figures, peer: Figures, goal: float, what: str, higher_is_better: bool = False
) -> None:
    """Print both sides and, as the last line, the ratio of medians against the goal; append to results.jsonl."""
    ratio = ours.median / peer.median
    met = ratio >= goal if higher_is_better else ratio <= goal
    sign = ">=" if higher_is_better else "<="
    print(ours, peer, sep="\n")
    print(f"{row}: {ratio:.2f} x {what} (goal {sign} {goal:.2f}): {'ok' if met else 'short'}")
    record(row, ours, peer, ratio, goal)


def record(row: str, ours: Figures, peer: Figures, ratio: float, goal: float) -> None:
    line = {
        "row": row,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "ratio": ratio,
        "goal": goal,
        "ours": ours.values,
        "peer": peer.values,
        "unit": ours.unit,
        "machine": {"cpus": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()},
        "versions": {name: version(name) for name in PACKAGES},
    }
    with RESULTS.open("a") as out:
        out.write(json.dumps(line) + "\n")
