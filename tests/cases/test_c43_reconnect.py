"""C43: what we launch is recorded by the server; another browser shows all of it, once and in order."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import httpx
import pytest
from gearshift_testing import browsing
from gearshift_testing.browsing import SLOW_MS, Lab
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import Browser, expect, sync_playwright

JOB = """%%gearshift --nodes 2 --machine sim-1 --name long
import time
from gearshift import train
for step in range(1, 61):
    print(f"line {step}", flush=True)
    train.log(step=step, steps=60, loss=1 / step)
    time.sleep(0.2)
"""
LINES = [f"line {n}" for n in range(1, 61)]


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = browsing.launch(playwright)
        yield browser
        browser.close()


def test_a_closed_laptop_loses_no_line_of_what_was_launched(running: Running, browser: Browser) -> None:
    driver = Driver(running, "uma")
    running.account("uma")
    driver.start("lap")
    try:
        with browsing.surfer(running, browser, "uma") as uma:
            uma.sign_in()
            lab = uma.lab("lap")
            lab.notebook()
            lab.run("%load_ext gearshift")
            at = lab.type_cell(JOB)
            lab.job(at).get_by_role("button", name="Start job…").click(timeout=SLOW_MS)
            lab.confirm("Start job")
            expect(lab.job(at).locator(".gs-log")).to_contain_text("line 3\n", timeout=SLOW_MS)
        with browsing.surfer(running, browser, "uma") as uma:
            uma.sign_in()
            lab = Lab(uma.page(), uma.faults)
            lab.open(f"{running.server('uma', 'lap')}lab/tree/Untitled.ipynb")
            log = lab.job(at).locator(".gs-log")
            expect(log).to_contain_text("line 20\n", timeout=SLOW_MS)
            so_far = lines(log.inner_text())
            assert so_far == LINES[: len(so_far)]
            expect(lab.job(at)).to_contain_text("Finished", timeout=2 * SLOW_MS)
            expect(log).to_contain_text("line 60", timeout=SLOW_MS)
            assert lines(log.inner_text()) == LINES
            assert uma.faults == []
        deadline = time.monotonic() + SLOW_MS / 1000
        while lines(saved_text(running, at)) != LINES:
            assert time.monotonic() < deadline, saved_text(running, at)
            time.sleep(0.2)
        assert "Finished" in saved_text(running, at)
    finally:
        driver.stop("lap")


def saved_text(running: Running, at: int) -> str:
    """The job's output as the saved notebook has it for a reader without us."""
    headers = {"Authorization": f"token {running.sign_in('uma')}"}
    url = f"{running.server('uma', 'lap')}api/contents/Untitled.ipynb"
    cells = httpx.get(url, headers=headers, timeout=60).json()["content"]["cells"]
    return "\n".join("".join(one["data"]["text/plain"]) for one in cells[at]["outputs"] if "data" in one)


def lines(text: str) -> list[str]:
    return re.findall(r"line \d+", text)
