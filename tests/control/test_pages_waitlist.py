"""The pages of the waitlist without script: joined from a start that was sold out, agreed to, held, started, taken back."""

from __future__ import annotations

import pytest
from gearshift_hub.control.app import plug
from gearshift_hub.control.reconcile import waitlist as at_work
from gearshift_testing.controls import ON_SQLITE, Browser, Control, Person
from gearshift_testing.fakes import idle
from gearshift_testing.gangs import Jobs
from gearshift_testing.page_forms import Inputs, press, press_start, read

pytestmark = ON_SQLITE
"""Pages ask the database nothing of their own: one kind is enough."""


@pytest.fixture
def browser(control: Control, jobs: Jobs, alice: Person) -> Browser:
    plug(control.ctx)
    return control.browser("alice")


async def free_again(control: Control, jobs: Jobs, bob: Person) -> None:
    """The machine is given back, and the line is looked at."""
    await bob.stop("work")
    await jobs.turn()
    await at_work.look(control.ctx)
    await idle()


async def test_a_start_that_is_sold_out_leads_to_the_waitlist_and_one_press_starts_what_is_held(
    control: Control, jobs: Jobs, browser: Browser, bob: Person
) -> None:
    await bob.start("work", "sim-4")
    refused = await press_start(browser, name="late", machine="sim-4", seen_price=str(4 * 10**9))
    assert refused.status_code == 409
    assert "Wait for Simulated chip × 4: 1st in line" in read(refused)
    assert "Join waitlist…" in read(refused)
    query = "name=late&image=pytorch&machine=sim-4"
    page = await browser.request("GET", f"/wait?{query}")
    fields = Inputs(page.text).sent
    assert (fields["cap"], "held for 5 min" in read(page)) == (["4.00"], True)
    assert (await browser.request("GET", "/api/v1/waitlist")).json() == [], "looking joins nothing"
    answer = await press(browser, "/wait", name="late", image="pytorch", machine="sim-4", mode="ask")
    assert answer.status_code == 303
    home = await browser.request("GET", "/")
    assert "1st in line" in read(home)
    await free_again(control, jobs, bob)
    held = await browser.request("GET", "/")
    assert "held for you until" in read(held)
    (wait,) = (await browser.request("GET", "/api/v1/waitlist")).json()
    answer = await press(browser, f"/waits/{wait['id']}/start")
    assert answer.headers["location"].endswith("/workspaces/alice/late")
    await control.settled()
    assert "What you wait for" not in read(await browser.request("GET", "/"))


async def test_what_begins_by_itself_needs_the_tick_and_the_press_and_is_withdrawn_on_home(
    browser: Browser, bob: Person
) -> None:
    await bob.start("work", "sim-4")
    sent = {"name": "late", "image": "pytorch", "machine": "sim-4", "mode": "itself", "until": ""}
    low = await press(browser, "/wait", **sent, cap="3.99")
    assert (low.status_code, "the price now is ¥4.00/h" in read(low)) == (422, True)
    rubbish = await press(browser, "/wait", **sent, cap="<script>")
    assert rubbish.status_code == 422
    assert "<script>alert" not in rubbish.text
    asked = await press(browser, "/wait", **sent, cap="4.50")
    assert "Start late by itself on Simulated chip × 4?" in read(asked)
    assert "¥4.50/h" in read(asked)
    plan = Inputs(asked.text).sent["plan"][0]
    unticked = await press(browser, "/wait/agree", plan=plan)
    assert (unticked.status_code, (await browser.request("GET", "/api/v1/waitlist")).json()) == (422, [])
    await press(browser, "/wait/agree", plan=plan, agree="yes")
    (wait,) = (await browser.request("GET", "/api/v1/waitlist")).json()
    assert (wait["mode"], wait["cap_nano"]) == ("itself", 4_500_000_000)
    home = read(await browser.request("GET", "/?lang=zh"))
    assert "自动一次，最高 ¥4.50/h" in home
    await press(browser, f"/waits/{wait['id']}/withdraw")
    (wait,) = (await browser.request("GET", "/api/v1/waitlist")).json()
    assert wait["state"] == "withdrawn"


async def test_somebody_elses_place_and_a_press_across_sites_are_refused(
    control: Control, browser: Browser, bob: Person
) -> None:
    await bob.start("work", "sim-4")
    await press(browser, "/wait", name="late", image="pytorch", machine="sim-4", mode="ask")
    (wait,) = (await browser.request("GET", "/api/v1/waitlist")).json()
    stranger = control.browser("bob")
    for verb in ("start", "keep", "withdraw"):
        assert (await press(stranger, f"/waits/{wait['id']}/{verb}")).status_code == 404
        crossed = await browser.request("POST", f"/waits/{wait['id']}/{verb}")
        assert crossed.status_code == 403
    (same,) = (await browser.request("GET", "/api/v1/waitlist")).json()
    assert same["state"] == "waiting"
