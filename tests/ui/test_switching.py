"""The switch where it does not go straight: sold out, a failed start, going back, presses that do not count, two tabs."""

from __future__ import annotations

import re

import pytest
from gearshift_testing.browsing import INERT_MS, SLOW_MS, Lab, Surfer, Visit
from gearshift_testing.driving import Driver
from gearshift_testing.evidence import write_server_config
from gearshift_testing.running import Running
from playwright.sync_api import expect


@pytest.fixture
def mark(visit: Visit, running: Running) -> Surfer:
    """A person whose workspace runs on `cpu-small`."""
    mark = visit("mark")
    running.account("mark")
    Driver(running, "mark").start("bench")
    mark.sign_in()
    return mark


@pytest.fixture
def lab(mark: Surfer) -> Lab:
    lab = mark.lab("bench")
    lab.notebook()
    lab.run("kept = 'kept'")
    return lab


def plan_for(lab: Lab, machine: str) -> None:
    """Up to the plan of a machine; its figures are on screen."""
    lab.button("Switch machine…", lab.panel).click()
    lab.dialog.get_by_role("radio", name=re.compile(machine)).check()
    lab.button("Show plan", lab.dialog).click()
    expect(lab.dialog).to_contain_text("These figures hold for", timeout=SLOW_MS)


def test_sold_out_between_plan_and_press(lab: Lab, running: Running) -> None:
    plan_for(lab, "^GPU simulated")
    others = [Driver(running, name) for name in ("ann", "bea")]
    for other in others:
        other.start("taken", "gpu-1")
    try:
        lab.confirm("Switch to GPU")
        expect(lab.dialog.get_by_role("heading", name="GPU is sold out", level=2)).to_be_visible(
            timeout=SLOW_MS
        )
        expect(lab.dialog.get_by_role("alert")).to_contain_text(
            "GPU is sold out: 0 of 2 free. You would be 1st."
        )
        expect(lab.dialog).to_contain_text(
            "You are still on CPU, small; nothing changed and nothing was charged."
        )
        expect(lab.button("Show plan for CPU, large", lab.dialog)).to_be_visible()
        lab.button("Stay on CPU, small", lab.dialog).click()
        lab.button("Switch machine…", lab.panel).click()
        row = lab.dialog.get_by_role("row", name=re.compile("^GPU simulated"))
        expect(row).to_contain_text("Sold out")
        expect(row.get_by_role("radio")).to_be_disabled()
        lab.page.keyboard.press("Escape")
    finally:
        for other in others:
            other.stop("taken")
    assert lab.run("kept") == "'kept'"


def test_a_failed_start_goes_back_with_every_variable(lab: Lab, running: Running) -> None:
    plan_for(lab, "^Simulated chip simulated")
    write_server_config(running, "mark", "import os\nos._exit(3)\n")
    try:
        lab.confirm("Switch to Simulated chip")
        expect(lab.dialog.get_by_role("heading", name="Not switched")).to_be_visible(timeout=SLOW_MS)
    finally:
        write_server_config(running, "mark", "")
    expect(lab.dialog).to_contain_text("Not switched. You are still on CPU, small.")
    expect(lab.dialog).to_contain_text("Simulated chip did not start")
    expect(lab.dialog).to_contain_text("exit 3")
    expect(lab.dialog).to_contain_text("Charged for the attempt: ¥0.00.")
    lab.button("Close", lab.dialog).last.click()
    assert lab.run("kept") == "'kept'"


def test_go_back_while_it_switches(lab: Lab) -> None:
    lab.run("import time; import numpy; large = [numpy.random.rand(1_000_000) for _ in range(40)]")
    plan_for(lab, "^Simulated chip simulated")
    lab.confirm("Switch to Simulated chip")
    back = lab.button("Go back to CPU, small", lab.dialog)
    expect(back).to_be_visible(timeout=SLOW_MS)
    lab.page.wait_for_timeout(INERT_MS)
    back.click()
    expect(lab.dialog.get_by_role("heading", name="Not switched")).to_be_visible(timeout=SLOW_MS)
    expect(lab.dialog).to_contain_text("Cancelled by mark.")
    lab.button("Close", lab.dialog).last.click()
    assert lab.run("kept, len(large)") == "('kept', 40)"


def test_a_press_by_script_or_in_the_first_half_second_does_not_count(lab: Lab, running: Running) -> None:
    lab.button("Stop…", lab.panel).click()
    stop = lab.button("Stop", lab.dialog)
    expect(stop).to_be_visible(timeout=SLOW_MS)
    stop.click()
    lab.page.wait_for_timeout(INERT_MS)
    stop.evaluate("button => button.click()")
    stop.evaluate("button => button.dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    lab.page.wait_for_timeout(300)
    expect(stop).to_be_visible()
    lab.page.keyboard.press("Escape")
    lab.button("Stop…", lab.panel).click()
    expect(stop).to_be_visible(timeout=SLOW_MS)
    lab.page.wait_for_timeout(INERT_MS)
    expect(lab.button("Cancel", lab.dialog)).to_be_focused()
    lab.page.keyboard.press("Enter")
    expect(lab.dialog).to_have_count(0)
    assert Driver(running, "mark").workspace("bench")["state"] == "ready"


def test_a_variable_that_no_cell_rebuilds_must_be_agreed_to(lab: Lab) -> None:
    lab.run("counter = (n for n in range(10)); next(counter)")
    plan_for(lab, "^Simulated chip simulated")
    press = lab.button("Switch to Simulated chip", lab.dialog)
    if lab.dialog.get_by_text("will be lost: no cell can rebuild it.").count():
        expect(press).to_have_attribute("aria-disabled", "true")
        lab.dialog.get_by_role("checkbox", name=re.compile("I can do without")).check()
    expect(press).not_to_have_attribute("aria-disabled", "true")
    lab.dialog.get_by_role("tab", name=re.compile("^Cannot move")).click()
    expect(lab.dialog.get_by_role("row", name=re.compile("counter"))).to_contain_text("Cannot move")
    lab.page.keyboard.press("Escape")


def test_another_tab_follows_and_shares_the_kernel(mark: Surfer, lab: Lab) -> None:
    other = Lab(mark.page(), mark.faults)
    other.open(lab.page.url)
    other.kernel_is_idle()
    plan_for(lab, "^Simulated chip simulated")
    lab.confirm("Switch to Simulated chip")
    expect(lab.dialog.get_by_role("heading", name="Switch report")).to_be_visible(timeout=SLOW_MS)
    expect(other.section("Machine")).to_contain_text("Simulated chip", timeout=SLOW_MS)
    expect(other.page.locator(".Toastify")).to_contain_text("You are on Simulated chip.")
    lab.button("Done", lab.dialog).click()
    lab.run("kept = 'changed in one tab'")
    assert other.run("kept") == "'changed in one tab'"
