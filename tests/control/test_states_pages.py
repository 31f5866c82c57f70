"""The pages around kept state: the choice at a start, its steps, and the page that deletes a workspace."""

from __future__ import annotations

import asyncio

import pytest
from gearshift_hub.control.app import plug
from gearshift_testing.controls import ON_SQLITE, Browser, Control, Person
from gearshift_testing.fakes import idle, refuse, until
from gearshift_testing.page_forms import Inputs, press, read

WORK = "/workspaces/alice/work"


pytestmark = ON_SQLITE
"""Pages ask the database nothing of their own: one kind is enough."""


@pytest.fixture(autouse=True)
def plugged(control: Control) -> None:
    plug(control.ctx)


@pytest.fixture
async def browser(control: Control, alice: Person) -> Browser:
    """Of alice, whose workspace was stopped with two variables."""
    await alice.start()
    control.hub.running[-1].variables |= {"model": 7, "step": 9}
    await alice.stop()
    return control.browser("alice")


async def test_the_start_page_offers_the_workspace_as_it_was_or_fresh(
    control: Control, browser: Browser
) -> None:
    said = read(await browser.request("GET", "/start"))
    assert "Start work as it was (with 2 variables of 20:52)" in said
    assert "Start fresh" in said
    await control.clock.advance(days=1)
    assert "with 2 variables of 2026-11-30 20:52" in read(await browser.request("GET", "/start"))
    chinese = read(await browser.request("GET", "/start?lang=zh"))
    assert "按原样启动 work（含 2026-11-30 20:52 的 2 个变量）" in chinese


@pytest.mark.parametrize(("state", "held"), [("", {"model": 7, "step": 9}), ("none", {})])
async def test_one_press_starts_either_way(
    control: Control, browser: Browser, state: str, held: dict[str, object]
) -> None:
    answer = await press(browser, f"{WORK}/start", state=state)
    assert answer.status_code == 303
    await control.settled()
    assert control.hub.running[-1].variables == held


async def test_a_start_with_other_choices_keeps_the_choice_of_kernels(
    control: Control, browser: Browser
) -> None:
    page = await browser.request("GET", "/start?from=work&state=none")
    assert "As they were" in read(page)
    assert Inputs(page.text).sent["state"] == ["none"]
    assert Inputs((await browser.request("GET", "/start?from=work")).text).sent["state"] == ["newest"]
    unknown = await press(browser, f"{WORK}/start", state="op-of-nobody")
    assert (unknown.status_code, "no kept state" in read(unknown)) == (404, True)


async def test_a_safe_start_brings_no_kernel_back_and_leaves_own_packages_away(
    control: Control, alice: Person, browser: Browser
) -> None:
    page = await browser.request("GET", "/start?from=work&state=safe")
    assert "no kept kernels, none of the packages that you installed" in read(page)
    assert Inputs(page.text).sent["state"] == ["safe"]
    assert (await press(browser, f"{WORK}/start", state="safe")).status_code == 303
    await control.settled()
    assert control.hub.running[-1].variables == {}
    assert control.hub.running[-1].plan.env["GEARSHIFT_SAFE_START"] == "1"
    assert len((await alice.get("/workspaces/alice/work/states")).json()) == 1, "what was kept stays kept"


async def test_a_workspace_that_did_not_start_offers_a_safe_start_to_its_owner(
    control: Control, alice: Person, browser: Browser
) -> None:
    assert "Safe start" not in read(await browser.request("GET", WORK)), "nothing is in the way"
    control.hub.faults.at("spawn", refuse("start_failed", exit=3))
    await press(browser, f"{WORK}/start")
    await control.settled()
    failed = await browser.request("GET", WORK)
    assert "A safe start leaves away what may be in the way" in read(failed)
    assert "safe" in Inputs(failed.text).sent["state"]
    assert "安全启动会略过" in read(await browser.request("GET", f"{WORK}?lang=zh"))
    await press(browser, f"{WORK}/start", state="safe")
    await control.settled()
    assert (await alice.workspace())["state"] == "ready"


async def test_a_workspace_of_which_nothing_is_kept_starts_as_usual_or_safe(
    control: Control, alice: Person, browser: Browser
) -> None:
    await alice.start("bare")
    await alice.stop("bare")
    page = await browser.request("GET", "/start?from=bare")
    assert "nothing is kept of its kernels" in read(page)
    assert "Start fresh" not in read(page)
    assert Inputs(page.text).sent["state"] == ["newest"]


async def test_bringing_back_is_a_step_only_where_something_was_kept(
    control: Control, alice: Person, browser: Browser
) -> None:
    gate = asyncio.Event()
    control.servers.faults.at("restore", until(gate))
    await press(browser, f"{WORK}/start")
    await idle()
    said = read(await browser.request("GET", WORK))
    assert "Step 5 of 6" in said
    assert "Kernels and variables brought back" in said
    gate.set()
    await control.settled()
    await alice.stop()
    control.hub.faults.at("start", until(asyncio.Event()))
    await press(browser, f"{WORK}/start", state="none")
    await idle()
    assert "Step 4 of 5" in read(await browser.request("GET", WORK))


async def test_a_stopped_workspace_says_what_a_start_brings_back_and_can_be_deleted(
    control: Control, browser: Browser
) -> None:
    said = read(await browser.request("GET", WORK))
    assert "A start brings the kernels back with 2 variables of 20:52." in said
    assert "Delete…" in said
    page = await browser.request("GET", f"{WORK}/delete")
    said = read(page)
    for expected in ("Delete work?", "Kept kernel states: 1", "your files", "every line of the ledger"):
        assert expected in said
    plan = Inputs(page.text).sent["plan"][0]
    done = await press(browser, f"{WORK}/delete", plan=plan)
    assert (done.status_code, done.headers["location"]) == (303, "/services/gearshift/?stay")
    await control.settled()
    assert "No workspaces yet" in read(await browser.request("GET", "/?stay"))
    again = await press(browser, f"{WORK}/delete", plan=plan)
    assert (again.status_code, again.headers["location"]) == (303, f"/services/gearshift{WORK}/delete")
    assert (await browser.request("GET", f"{WORK}/delete")).status_code == 404


async def test_the_list_offers_deletion_of_what_is_stopped_only(
    control: Control, alice: Person, browser: Browser
) -> None:
    assert "Delete work…" in (await browser.request("GET", "/")).text
    await alice.start()
    assert "Delete work…" not in (await browser.request("GET", "/")).text
    refused = await browser.request("GET", f"{WORK}/delete")
    assert (refused.status_code, "stop it first" in read(refused)) == (409, True)


async def test_somebody_else_gets_neither_page_nor_press(control: Control, browser: Browser) -> None:
    await control.add_person("bob")
    stranger = control.browser("bob")
    assert (await stranger.request("GET", f"{WORK}/delete")).status_code == 403
    assert (await press(stranger, f"{WORK}/start")).status_code == 403
    answer = await press(stranger, f"{WORK}/delete", plan="plan-of-nobody")
    assert answer.status_code == 303
    assert (await browser.request("GET", WORK)).status_code == 200
