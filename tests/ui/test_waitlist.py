"""Sold out in Lab: a place on the waitlist with consent, taken back under Cost, held and given; a job that waits changes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from gearshift_testing.browsing import SLOW_MS, Lab, Surfer, Visit, axe_source
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running
from gearshift_testing.submitting import ended, submit
from playwright.sync_api import expect

LONG = "import time\nfor _ in range(6000):\n    time.sleep(0.1)"
SHORT = "print('ran')"


@pytest.fixture
def taken(running: Running) -> Iterator[Driver]:
    """Somebody who holds all chips."""
    running.account("vera")
    vera = Driver(running, "vera")
    vera.start("taken", "sim-4")
    yield vera
    if vera.workspace("taken")["state"] != "stopped":
        vera.stop("taken")


@pytest.fixture
def lab(visit: Visit, running: Running) -> Lab:
    walt: Surfer = visit("walt")
    running.account("walt")
    Driver(running, "walt").start("bench")
    walt.sign_in()
    return walt.lab("bench")


def test_what_is_sold_out_is_waited_for_with_consent_taken_back_held_and_given(
    taken: Driver, lab: Lab, running: Running
) -> None:
    walt = Driver(running, "walt")
    lab.button("Switch machine…", lab.panel).click()
    lab.button("Wait for Simulated chip × 4", lab.dialog).click()
    expect(lab.dialog.get_by_role("heading", name="Or wait for Simulated chip × 4")).to_be_visible(
        timeout=SLOW_MS
    )
    expect(lab.dialog.get_by_role("radio", name=re.compile("^Ask me when one is free"))).to_be_checked()
    lab.dialog.get_by_role("radio", name=re.compile("^Switch by itself, once")).check()
    lab.dialog.get_by_role("textbox", name="At most, per hour").fill("3.99")
    expect(lab.dialog).to_contain_text("The price now is ¥4.00/h: allow at least that.")
    lab.dialog.get_by_role("textbox", name="At most, per hour").fill("4.50")
    lab.button("Join waitlist…", lab.dialog).click()
    agree = lab.button("Agree", lab.dialog)
    expect(agree).to_have_attribute("aria-disabled", "true", timeout=SLOW_MS)
    expect(lab.button("Cancel", lab.dialog)).to_be_focused()
    lab.dialog.get_by_role("checkbox", name="I agree to be charged when it happens").check()
    lab.confirm("Agree")
    expect(lab.dialog).to_have_count(0, timeout=SLOW_MS)
    lab.command("Open Cost")
    consents = lab.page.get_by_role("region", name="Consents")
    expect(consents).to_contain_text("by itself, once, at most ¥4.50/h", timeout=SLOW_MS)
    assert accessible(lab) == []
    lab.button("Withdraw: Switch bench to Simulated chip × 4", consents).click()
    expect(consents).to_contain_text("Nothing begins by itself", timeout=SLOW_MS)
    walt.post("waitlist", {"what": "switch", "workspace": "walt/bench", "machine": "sim-4"})
    taken.stop("taken")
    told = lab.page.get_by_text(re.compile(r"^Simulated chip × 4 is free and held for you until"))
    expect(told.first).to_be_visible(timeout=SLOW_MS)
    expect(consents).to_contain_text("held until", timeout=SLOW_MS)
    lab.button("Show plan").first.click()
    lab.confirm("Switch to Simulated chip × 4")
    until(lambda: walt.workspace("bench")["spec"]["machine"] == "sim-4", 90, "the switch ends")
    assert [one["state"] for one in walt.get("waitlist")] == ["done", "withdrawn"]


def test_a_job_that_waits_says_why_and_takes_a_shape_that_starts_now(
    taken: Driver, lab: Lab, running: Running
) -> None:
    taken.stop("taken")
    first = submit(taken, LONG, machine="sim-1", nodes=2, name="sweep", expected_seconds=720)
    until(lambda: taken.get(f"jobs/{first}")["state"] == "running", 90, "it runs")
    walt = Driver(running, "walt")
    job = submit(walt, SHORT, machine="sim-1", nodes=4, name="long-one", expected_seconds=1800)
    lab.section("Jobs").get_by_role("button", name=re.compile("long-one")).click()
    widget = lab.page.locator(".gs-job")
    for said in (
        "1st",
        "in line of 1",
        "Needs 4 Simulated chip at once on 4 nodes; 2 are free now.",
        "another person’s job",
        "About ¥2.00 once it runs (30 min at ¥4.00/h).",
        "Would start now",
    ):
        expect(widget).to_contain_text(said, timeout=SLOW_MS)
    widget.get_by_role("button", name=re.compile("^2 × Simulated chip · about 1 h, ¥2.00")).click()
    lab.confirm("Change job")
    assert ended(walt, job)["state"] == "succeeded"
    expect(widget).to_contain_text("¥0.00, planned", timeout=SLOW_MS)
    taken.begin("cancel_job", job=first)
    ended(taken, first)


def accessible(lab: Lab) -> list[str]:
    """What the audit finds wrong in the view that is open."""
    lab.page.evaluate(axe_source())
    found = lab.page.evaluate("() => axe.run('.gs-main', {runOnly: ['wcag2a', 'wcag2aa']})")
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found["violations"]]
