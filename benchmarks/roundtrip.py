"""Row `roundtrip`: 300 execute_requests through the hub's proxy and the kernel's websocket."""

from __future__ import annotations

from contextlib import closing

from gearshift.kernel import Kernel

from benchmarks.measure import Figures, alternate, report, timed
from benchmarks.ours import Ours
from benchmarks.stock import Stock

REQUESTS, BATCHES, GOAL = 300, 10, 0.25


def main() -> None:
    with closing(Ours()) as ours, closing(Stock()) as stock:
        url = ours.start("mei")
        stock.add("mei")
        mine = Kernel(url, ours.tokens["mei"])
        theirs = Kernel(stock.start("mei"), stock.token)
        each = REQUESTS // BATCHES
        values = alternate(lambda: batch(mine, each), lambda: batch(theirs, each), BATCHES)
    report(
        "roundtrip",
        Figures("ours", values[0], "ms"),
        Figures("stock", values[1], "ms"),
        GOAL,
        "stock JupyterHub 6.1",
    )


def batch(kernel: Kernel, requests: int) -> float:
    """Milliseconds of one request, over `requests` of them."""
    return timed(lambda: [kernel.run("1") for _ in range(requests)]) / requests * 1000
