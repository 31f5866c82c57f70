"""Knows the page: headless Chromium, signed in at our hub or the stock one, and when Lab is interactive."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.measure import CannotMeasure

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
INTERACTIVE = (
    "document.querySelector('#jp-main-dock-panel') && document.querySelector('.jp-DirListing-content')"
)
SLOW_MS = 120_000


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        raise CannotMeasure("the page needs Debian's chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


def signed_in(browser: Browser, url: str, name: str, password: str) -> Page:
    """A page in a fresh context with the hub's cookie."""
    page = browser.new_context().new_page()
    page.set_default_timeout(SLOW_MS)
    page.goto(f"{url}hub/login")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")
    page.wait_for_url(lambda where: "/hub/login" not in where)
    return page


def empty_cache(page: Page, server_url: str) -> Page:
    """The same person in a browser that has nothing of Lab. Lab was opened before on both sides: the stock hub does
    it by itself at the sign-in, and with it the server has asked the hub who this is."""
    load_lab(page, server_url)
    browser, held = page.context.browser, page.context.storage_state()
    assert browser is not None
    page.context.close()
    fresh = browser.new_context(storage_state=held).new_page()
    fresh.set_default_timeout(SLOW_MS)
    return fresh


def load_lab(page: Page, server_url: str) -> None:
    """Open Lab and return when it can be used."""
    page.goto(f"{server_url}lab")
    page.wait_for_function(INTERACTIVE)
