"""A person with a browser: signs in, starts a workspace on the page, works in Lab; everything is found by role and name."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, expect

from gearshift_testing.running import PASSWORD, Running

CHROMIUM = "/usr/bin/chromium"
SLOW_MS = 60_000
"""The box may be busy; a wait ends as soon as what it waits for is there."""
INERT_MS = 800
"""A confirming press does not count in its first half second; the page may be slow to draw."""
HEARD = 40
IDLE = re.compile(r"Python 3.* \| Idle")


def launch(playwright: Playwright) -> Browser:
    """Debian's Chromium, headless; as root it has no sandbox."""
    return playwright.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
    )


@dataclass
class Lab:
    """One tab of JupyterLab, and what is done in it."""

    page: Page
    faults: list[str] = field(default_factory=list)

    def open(self, url: str) -> None:
        """Go there; the page is ready when its panel is and nothing covers it."""
        self.page.goto(url)
        self.ready()

    def ready(self) -> None:
        expect(self.page.locator("#gearshift-panel")).to_be_attached(timeout=SLOW_MS)
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0, timeout=SLOW_MS)

    @property
    def panel(self) -> Locator:
        """The side panel, opened by its keys."""
        panel = self.page.locator("#gearshift-panel")
        if not panel.is_visible():
            self.page.keyboard.press("Control+Shift+Alt+G")
        expect(panel).to_be_visible()
        return panel

    def section(self, name: str) -> Locator:
        return self.panel.get_by_role("region", name=name, exact=False).first

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    def button(self, name: str, within: Locator | None = None) -> Locator:
        return (within or self.page.locator("body")).get_by_role("button", name=name, exact=True)

    def command(self, label: str) -> None:
        """Run a command from the palette, by the keyboard."""
        self.page.keyboard.press("Control+Shift+C")
        self.page.locator(".lm-CommandPalette-input").fill(label)
        self.page.locator(".lm-CommandPalette-item", has_text=label).first.wait_for()
        self.page.keyboard.press("Enter")

    def notebook(self) -> None:
        """A new notebook whose kernel is there."""
        self.page.locator(".jp-LauncherCard[data-category='Notebook']").first.click()
        self.kernel_is_idle()

    def kernel_is_idle(self) -> None:
        expect(self.page.locator("#jp-main-statusbar").get_by_text(IDLE)).to_be_visible(timeout=SLOW_MS)

    def type_cell(self, code: str) -> int:
        """Write code into the last cell and run it; the number of the cell."""
        cells = self.page.locator(".jp-Notebook-cell")
        at = cells.count() - 1
        cells.nth(at).locator(".cm-content").click()
        self.page.keyboard.insert_text(code)
        self.page.keyboard.press("Shift+Enter")
        return at

    def run(self, code: str) -> str:
        """Run code as the last cell; its output once it has ended."""
        return self.output(self.type_cell(code))

    def output(self, at: int) -> str:
        cell = self.page.locator(".jp-Notebook-cell").nth(at)
        expect(cell.locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"), timeout=SLOW_MS)
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts()).strip()

    def job(self, at: int) -> Locator:
        """The job or plan in a cell's output."""
        return self.page.locator(".jp-Notebook-cell").nth(at).locator(".gs-job")

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def confirm(self, name: str) -> None:
        """The press of a dialog: it is inert for its first half second."""
        press = self.button(name, self.dialog)
        expect(press).to_be_enabled(timeout=SLOW_MS)
        self.page.wait_for_timeout(INERT_MS)
        press.click()


@dataclass
class Surfer:
    """A person and their browser, with the cookies of its own."""

    product: Running
    user: str
    context: BrowserContext
    faults: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    """What pages complained of, and what they were refused."""

    def sign_in(self) -> Page:
        """By the form, as at a first visit."""
        self.product.account(self.user)
        page = self.page()
        page.goto(self.product.url)
        page.get_by_label("Name").fill(self.user)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("/services/gearshift/"), timeout=SLOW_MS)
        return page

    def lab(self, workspace: str) -> Lab:
        """Another tab on a workspace that runs, with a fresh layout."""
        lab = Lab(self.page(), self.faults)
        lab.open(f"{self.product.server(self.user, workspace)}lab?reset")
        return lab

    def page(self) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(f"{error}\n{error.stack}"))
        page.on("console", lambda said: self.heard.append(said.text) if said.type == "error" else None)
        page.on(
            "requestfailed", lambda asked: self.heard.append(f"{asked.method} {asked.url}: {asked.failure}")
        )
        page.on(
            "response",
            lambda got: self.heard.append(f"{got.status} {got.url}") if got.status >= 400 else None,
        )
        return page

    def start(self, page: Page, name: str) -> Lab:
        """Fill the start page's form and press; Lab opens by itself."""
        page.goto(f"{self.product.url}services/gearshift/start")
        page.get_by_role("textbox", name="Name", exact=True).fill(name)
        page.get_by_role("radio", name=re.compile("CPU, small")).check()
        page.get_by_role("button", name=re.compile(r"^Start · ")).click()
        page.wait_for_url(re.compile(r"/lab"), timeout=SLOW_MS)
        lab = Lab(page, self.faults)
        lab.ready()
        return lab


@contextmanager
def surfer(product: Running, browser: Browser, user: str) -> Iterator[Surfer]:
    """A fresh browser profile for this person."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(SLOW_MS / 2)
    person = Surfer(product, user, context)
    try:
        yield person
    finally:
        print(f"{user}'s pages heard:", *person.heard[-HEARD:], sep="\n")  # seen where a test fails
        context.close()


def settings(
    lab: Lab, product: Running, user: str, workspace: str, plugin: str, values: dict[str, Any]
) -> None:
    """Write a person's Lab settings through their server, then load the page anew."""
    url = f"{product.server(user, workspace)}lab/api/settings/{plugin}"
    cookies = {one["name"]: one["value"] for one in lab.page.context.cookies(url)}
    answer = lab.page.request.put(
        url, data={"raw": json.dumps(values)}, headers={"X-XSRFToken": cookies.get("_xsrf", "")}
    )
    assert answer.ok, answer.text()
    lab.page.reload()
    lab.ready()


def axe_source() -> str:
    """The audit's script, from wherever the extension's packages were fetched."""
    root = Path(__file__).resolve().parents[3] / "extensions/jupyterlab-gearshift"
    built = Path(sys.prefix).parent / "build/extensions/jupyterlab-gearshift"
    for folder in (root, built):
        file = folder / "node_modules/axe-core/axe.min.js"
        if file.exists():
            return file.read_text()
    raise AssertionError("axe-core is not there: run `jlpm install` in extensions/jupyterlab-gearshift")


Visit = Callable[[str], Surfer]
"""Gives a person a browser of their own."""
