"""Row `idle_memory`: what is resident at rest (all parts of a deployment), and what one idle workspace adds."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psutil

from benchmarks.measure import Figures, report
from benchmarks.ours import Ours
from benchmarks.stock import Stock

LIMIT_MB, GOAL = 500, 1.1


def main() -> None:
    with closing(Ours()) as ours, closing(Stock()) as stock:
        parts, stock_parts = tree_mb(ours.running.process.pid), tree_mb(stock.process.pid)
        ours.start("mei")
        stock.add("mei")
        stock.start("mei")
        workspace = tree_mb(ours.running.process.pid) - parts
        single = tree_mb(stock.process.pid) - stock_parts
    verdict = "ok" if parts <= LIMIT_MB else "short"
    print(
        f"all parts at rest: {parts:.0f} MB (stock hub and proxy {stock_parts:.0f} MB; limit {LIMIT_MB}): {verdict}"
    )
    report(
        "idle_memory",
        Figures("one workspace", [workspace], "MB"),
        Figures("stock", [single], "MB"),
        GOAL,
        "a stock single-user server",
    )


def tree_mb(pid: int) -> float:
    """Memory of a process and all below it; pages that are shared count once (PSS)."""
    root = psutil.Process(pid)
    return sum(pss(process.pid) for process in [root, *root.children(recursive=True)]) / 1e6


def pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
