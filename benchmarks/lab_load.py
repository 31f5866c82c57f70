"""Row `lab_load`: Lab to interactive with the extension, headless Chromium, cold and warm; the peer is Lab without it."""

from __future__ import annotations

import gzip
import sys
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.browser import chromium, empty_cache, load_lab, signed_in
from benchmarks.measure import Figures, alternate, report, timed
from benchmarks.ours import Ours, product
from benchmarks.stock import Stock

RUNS, GOAL, BUNDLE_LIMIT = 10, 1.03, 250_000


def main() -> None:
    with closing(Ours()) as ours, closing(Stock(extension=False)) as stock, chromium() as browser:
        url = ours.start("mei")
        stock.add("mei")
        there = stock.start("mei")
        password = product.PASSWORD
        mine = alternate(
            lambda: cold(browser, ours.running.url, url, password),
            lambda: cold(browser, stock.url, there, "any"),
            RUNS,
        )
        pages = [
            signed_in(browser, ours.running.url, "mei", password),
            signed_in(browser, stock.url, "mei", "any"),
        ]
        warm = alternate(
            lambda: timed(lambda: load_lab(pages[0], url)),
            lambda: timed(lambda: load_lab(pages[1], there)),
            RUNS,
        )
    print(f"bundle: {bundle_bytes() / 1000:.0f} KB gzip (limit {BUNDLE_LIMIT / 1000:.0f} KB)")
    report(
        "lab_load warm",
        Figures("ours", warm[0]),
        Figures("without", warm[1]),
        GOAL,
        "Lab without the extension",
    )
    report(
        "lab_load", Figures("ours", mine[0]), Figures("without", mine[1]), GOAL, "Lab without the extension"
    )


def cold(browser: Browser, hub_url: str, server_url: str, password: str) -> float:
    """A browser that has nothing of Lab in its cache."""
    page = empty_cache(signed_in(browser, hub_url, "mei", password), server_url)
    seconds = timed(lambda: load_lab(page, server_url))
    page.context.close()
    return seconds


def bundle_bytes() -> int:
    folder = Path(sys.prefix) / "share/jupyter/labextensions/jupyterlab-gearshift/static"
    return sum(len(gzip.compress(path.read_bytes())) for path in folder.glob("*.js"))
