"""Row `start`: API start -> first execute_reply of 1+1 through the proxy, no page; new people and returning people."""

from __future__ import annotations

from contextlib import closing

from gearshift.kernel import Kernel

from benchmarks.measure import Figures, alternate, report, timed
from benchmarks.ours import Ours
from benchmarks.stock import Stock

RUNS, GOAL, PEER = 10, 0.25, "stock JupyterHub 6.1"


def main() -> None:
    with closing(Ours()) as ours, closing(Stock()) as stock:
        names = [f"new{number}" for number in range(RUNS)]
        for name in names:
            ours.client(name)
            stock.add(name)
        fresh, returning = iter(names), iter(names)
        stock_fresh, stock_returning = iter(names), iter(names)
        new = alternate(
            lambda: start_ours(ours, next(fresh)), lambda: start_stock(stock, next(stock_fresh)), RUNS
        )
        old = alternate(
            lambda: start_ours(ours, next(returning)), lambda: start_stock(stock, next(stock_returning)), RUNS
        )
    report("start of a new person", Figures("ours", new[0]), Figures("stock", new[1]), GOAL, PEER)
    report("start", Figures("ours", old[0]), Figures("stock", old[1]), GOAL, PEER)


def start_ours(ours: Ours, user: str) -> float:
    seconds = timed(lambda: first_answer(ours.start(user), ours.tokens[user]))
    ours.stop(user)
    return seconds


def start_stock(stock: Stock, user: str) -> float:
    seconds = timed(lambda: first_answer(stock.start(user), stock.token))
    stock.stop(user)
    return seconds


def first_answer(server_url: str, token: str) -> None:
    kernel = Kernel(server_url, token, "bench.ipynb")
    assert kernel.run("1+1").data[0]["text/plain"] == "2"
    kernel.close()
