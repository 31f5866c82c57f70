"""Behind the hub's proxy, in two browsers: the tab is closed, another one opens, the machine is switched meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from gearshift_testing import browsing
from gearshift_testing.browsing import SLOW_MS, Lab, Surfer
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running
from playwright.sync_api import Browser, Locator, expect, sync_playwright

LINES = "import time\nfor n in range(1, {count}):\n    print('line', n, flush=True); time.sleep({pause})"


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = browsing.launch(playwright)
        yield browser
        browser.close()


def test_work_goes_on_with_no_browser_and_through_a_switch(running: Running, browser: Browser) -> None:
    running.account("ida")
    driver = Driver(running, "ida")
    driver.start("desk")
    with browsing.surfer(running, browser, "ida") as one:
        one.sign_in()
        lab = one.lab("desk")
        lab.notebook()
        first = lab.type_cell(LINES.format(count=31, pause=0.2))
        second = lab.type_cell("name = input('who? '); print('hello', name)")
        expect(shown(lab, first)).to_contain_text("line 3", timeout=SLOW_MS)
    with (
        browsing.surfer(running, browser, "ida") as two,
        browsing.surfer(running, browser, "ida") as three,
    ):
        lab, other = opened(two), opened(three)
        for each in (lab, other):
            expect(shown(each, first)).to_contain_text("line 30", timeout=SLOW_MS)
            assert re.findall(r"line \d+", shown(each, first).inner_text()) == [
                f"line {n}" for n in range(1, 31)
            ]
        question = other.page.get_by_role("group", name="The cell waits for your answer")
        question.get_by_role("textbox", name="who?").click(timeout=SLOW_MS)
        other.page.keyboard.type("世界!")
        other.page.keyboard.press("Enter")
        for each in (lab, other):
            expect(shown(each, second)).to_contain_text("hello 世界!", timeout=SLOW_MS)
            expect(each.page.get_by_role("group", name="The cell waits for your answer")).to_have_count(0)
        the_machine_is_switched_under_both(lab, other, driver)
        assert two.faults == three.faults == []
    driver.stop("desk")


def the_machine_is_switched_under_both(lab: Lab, other: Lab, driver: Driver) -> None:
    """Typed before, typed within, run after: seen by both, nothing lost and nothing twice."""
    cells = lab.page.locator(".jp-Notebook-cell")
    last = cells.count() - 1
    cells.nth(last).locator(".cm-content").click()
    lab.page.keyboard.insert_text("kept = name  # typed before")
    expect(other.page.locator(".jp-Notebook-cell").nth(last)).to_contain_text("typed before", timeout=SLOW_MS)
    operation = driver.begin("switch", workspace="ida/desk", machine="sim-1")
    other.page.locator(".jp-Notebook-cell").nth(last).locator(".cm-content").click()
    other.page.keyboard.press("End")
    other.page.keyboard.insert_text(", typed within")
    driver.done(operation)
    for each in (lab, other):
        cell = each.page.locator(".jp-Notebook-cell").nth(last)
        expect(cell.locator(".cm-content")).to_have_text(
            "kept = name  # typed before, typed within", timeout=SLOW_MS
        )
        expect(each.dialog).to_have_count(0)
    cells.nth(last).locator(".cm-content").click()
    lab.page.keyboard.press("Shift+Enter")
    after = lab.type_cell("print('after', kept)")
    for each in (lab, other):
        expect(shown(each, after)).to_contain_text("after 世界!", timeout=SLOW_MS)
        assert each.page.locator(".jp-Notebook-cell").filter(has_text="typed within").count() == 1


def opened(person: Surfer) -> Lab:
    """Another browser on the same notebook."""
    person.sign_in()
    lab = Lab(person.page(), person.faults)
    lab.open(f"{person.product.server(person.user, 'desk')}lab/tree/Untitled.ipynb?reset")
    return lab


def shown(lab: Lab, cell: int) -> Locator:
    return lab.page.locator(".jp-Notebook-cell").nth(cell).locator(".jp-OutputArea")
