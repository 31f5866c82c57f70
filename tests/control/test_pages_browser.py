"""The pages in a real browser: what scripts add, the keyboard, and that everything works when scripts are off."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from gearshift.model.disk import Mode
from gearshift_hub.control.app import plug
from gearshift_hub.control.auth import SESSION_COOKIE
from gearshift_testing.controls import Control
from gearshift_testing.fakes import until
from playwright.async_api import Browser, BrowserContext, Page, Route, async_playwright, expect

CHROMIUM = "/usr/bin/chromium"
REPORT_WHAT_THE_STREAM_BRINGS = """
const read = ReadableStreamDefaultReader.prototype.read;
ReadableStreamDefaultReader.prototype.read = async function () {
  const got = await read.call(this);
  setTimeout(() => heard(String(got.value)), 100);
  return got;
};
"""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
PAGE_MS = 60_000
"""Chromium draws in software here: beside other load a page was seen to take 20 s."""


@dataclass
class Site:
    """Control behind an address, and a browser that is signed in as alice."""

    control: Control
    url: str
    chromium: Browser

    async def open(self, path: str = "/start", *, script: bool = True) -> Page:
        context = await self.chromium.new_context(java_script_enabled=script, locale="en-US")
        await self.sign_in(context)
        page = await context.new_page()
        page.set_default_timeout(PAGE_MS)
        await page.goto(f"{self.url}{path}")
        return page

    async def sign_in(self, context: BrowserContext) -> None:
        name, _, value = self.control.browser("alice").cookie.partition("=")
        assert name == SESSION_COOKIE
        await context.add_cookies([{"name": name, "value": value, "url": self.url}])


@pytest.fixture(scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest.fixture
async def site(migrated_sqlite: Path, tmp_path: Path, chromium: Browser) -> AsyncIterator[Site]:
    shutil.copyfile(migrated_sqlite, tmp_path / "control.sqlite")
    control = Control(f"sqlite:///{tmp_path / 'control.sqlite'}")
    plug(control.ctx)
    await control.add_person("alice")
    server = uvicorn.Server(uvicorn.Config(control.public, port=0, log_level="error", lifespan="off"))
    serving = asyncio.ensure_future(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield Site(control, f"http://127.0.0.1:{port}/services/gearshift", chromium)
    for context in chromium.contexts:
        await context.close()
    control.ctx.events.close()
    server.should_exit = True
    await serving
    await control.close()


async def test_the_total_follows_the_machine_and_the_start_leads_into_the_lab(site: Site) -> None:
    gate = asyncio.Event()
    site.control.hub.faults.at("start", until(gate))
    page = await site.open()
    await page.get_by_role("radio", name="Simulated chip × 4").check()
    await expect(page.get_by_role("button", name="Start · ¥4.00/h")).to_be_visible()
    await page.get_by_label("Name", exact=True).fill("vlm")
    await page.get_by_role("checkbox", name="Iris flowers").check()
    await page.get_by_role("button", name="Start · ¥4.00/h").click()
    await expect(page.get_by_role("heading", name="Starting vlm")).to_be_visible()
    await expect(page.locator("[aria-current=step]")).to_contain_text("Starting PyTorch")
    await expect(page.get_by_role("status")).to_have_text("Starting PyTorch: in progress")
    gate.set()
    await page.wait_for_url("**/user/alice/vlm/")


WATCHED = """{
    const { fetch } = window, { parse } = JSON;
    window.fetch = (...asked) => {
        told('asks');
        return fetch(...asked);
    };
    JSON.parse = text => {
        const value = parse(text);
        if (value && value.balance_nano) setTimeout(() => told(`balance ${value.balance_nano}`), 0);
        return value;
    };
}"""
"""The page tells when it asks for something, and when it has taken in a change of the balance."""


async def test_a_page_that_leaves_for_the_lab_leaves_once(site: Site) -> None:
    """A second reload would break off the first one's navigation (ERR_ABORTED)."""
    started, drawing, drawn, leaving, released = (asyncio.Event() for _ in range(5))
    told: asyncio.Queue[str] = asyncio.Queue()
    site.control.hub.faults.at("start", until(started))
    page = await site.open("/disks")
    await page.expose_function("told", told.put)
    await page.add_init_script(WATCHED)
    await page.goto(f"{site.url}/start")
    await page.get_by_label("Name", exact=True).fill("vlm")
    await page.get_by_role("button", name="Start · ¥0.10/h").click()
    await expect(page.get_by_role("heading", name="Starting vlm")).to_be_visible()

    async def hold(route: Route) -> None:
        if route.request.is_navigation_request():
            leaving.set()
            await released.wait()
        else:
            drawing.set()
            await drawn.wait()
        await route.continue_()

    async def told_up_to_balance(balance_nano: int) -> list[str]:
        with site.control.ctx.db.transaction() as session:
            site.control.ctx.events.add(session, "balance", {"balance_nano": balance_nano}, owner="alice")
        found = [await told.get()]
        while found[-1] != f"balance {balance_nano}":
            found.append(await told.get())
        return found

    await page.route("**/workspaces/alice/vlm", hold)
    async with asyncio.timeout(60):
        started.set()
        await drawing.wait()
        await site.control.settled()
        await told_up_to_balance(1)  # while it draws: it would draw once more
        drawn.set()
        await leaving.wait()
        assert "asks" not in await told_up_to_balance(2)
    released.set()
    await page.wait_for_url("**/user/alice/vlm/")


async def test_the_inventory_is_live(site: Site) -> None:
    page = await site.open()
    row = page.get_by_role("row", name="Simulated chip × 4")
    await expect(row).to_contain_text("1 of 1 free")
    await expect(page.get_by_text(re.compile(r"live inventory, \d+ s ago"))).to_be_visible()
    bob = await site.control.add_person("bob")
    await bob.start(machine="sim-4")
    await expect(row).to_contain_text("Sold out")
    await expect(row.get_by_role("radio")).to_be_disabled()
    await bob.stop()
    await expect(row).to_contain_text("1 of 1 free")
    await expect(row.get_by_role("radio")).to_be_enabled()


async def test_the_form_works_by_keyboard_alone(site: Site) -> None:
    page = await site.open()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    await page.get_by_role("radio", name="CPU, small").focus()
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("radio", name="CPU, large")).to_be_checked()
    await expect(page.get_by_role("button", name="Start · ¥0.20/h")).to_be_visible()
    await page.get_by_label("Name", exact=True).focus()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/workspace/")


async def test_a_search_narrows_the_data_sets_and_keeps_what_is_chosen(site: Site) -> None:
    page = await site.open()
    await page.get_by_role("checkbox", name="Iris flowers").check()
    await page.get_by_role("searchbox", name="Add by name").fill("企鹅")
    await expect(page.get_by_role("checkbox", name="Palmer penguins")).to_be_visible()
    await expect(page.get_by_role("checkbox", name="Iris flowers")).to_be_visible()
    await expect(page.get_by_role("checkbox", name="Handwritten digits")).to_be_hidden()


async def test_home_changes_by_itself_when_a_workspace_does(site: Site) -> None:
    alice = site.control.person("alice")
    await alice.start()
    page = await site.open("/")
    await expect(page.get_by_role("row", name="work")).to_contain_text("Running")
    await alice.stop()
    await expect(page.get_by_role("row", name="work")).to_contain_text("Stopped")
    await expect(page.get_by_role("button", name="Start work as it was, ¥0.10/h")).to_be_visible()


async def test_a_page_that_is_not_seen_holds_no_connection_and_catches_up_when_it_is(site: Site) -> None:
    alice = site.control.person("alice")
    await alice.start()
    page = await site.open("/")
    await expect(page.get_by_role("row", name="work")).to_contain_text("Running")
    see = """seen => {
        Object.defineProperty(document, 'hidden', { value: !seen, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    async with page.expect_event("requestfailed", lambda request: "/events" in request.url):
        await page.evaluate(see, False)
    await alice.stop()
    await expect(page.get_by_role("row", name="work")).to_contain_text("Running")
    await page.evaluate(see, True)
    await expect(page.get_by_role("row", name="work")).to_contain_text("Stopped")


async def test_a_stop_is_pressed_after_half_a_second_with_the_focus_on_cancel(site: Site) -> None:
    await site.control.person("alice").start()
    page = await site.open("/disks")
    await page.clock.install()
    await page.clock.pause_at(await page.evaluate("Date.now() + 1000"))
    await page.goto(f"{site.url}/workspaces/alice/work/stop")
    await expect(page.get_by_role("link", name="Cancel")).to_be_focused()
    stop = page.get_by_role("button", name="Stop")
    await expect(stop).to_have_attribute("aria-disabled", "true")
    await stop.dispatch_event("click")
    assert (await site.control.person("alice").workspace())["state"] == "ready"
    await page.clock.run_for(499)
    await expect(stop).to_have_attribute("aria-disabled", "true")
    await page.clock.run_for(1)
    await expect(stop).not_to_have_attribute("aria-disabled", "true")
    await page.clock.resume()
    await stop.click()
    await expect(page.get_by_role("button", name="Start as it was · ¥0.10/h")).to_be_visible()


async def test_without_script_the_whole_way_is_the_same(site: Site) -> None:
    alice = site.control.person("alice")
    async with site.control.outside(alice.headers) as client:
        disk = (await client.post("/api/v1/disks", json={"name": "team"})).json()
    page = await site.open(script=False)
    await page.get_by_role("radio", name="Half a GPU").check()
    await page.get_by_role("checkbox", name="team").check()
    await page.get_by_role("button", name="Update the total").click()
    await expect(page.get_by_role("button", name="Start · ¥0.50/h")).to_be_visible()
    await expect(page.get_by_role("checkbox", name="team")).to_be_checked()
    await page.get_by_label("Name", exact=True).fill("../x")
    await page.get_by_role("button", name="Start · ¥0.50/h").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_value("../x")
    await expect(page.get_by_text("beginning with a letter.").first).to_be_visible()
    await page.get_by_label("Name", exact=True).fill("plain")
    await page.get_by_role("button", name="Start · ¥0.50/h").click()
    await page.wait_for_url("**/user/alice/plain/")
    spec = (await alice.workspace("plain"))["spec"]
    assert (spec["machine"], spec["disks"]) == ("gpu-half", [{"disk": disk["id"], "mode": Mode.RW}])
    await page.goto(f"{site.url}/")
    await page.get_by_role("link", name="Stop plain…").click()
    await page.get_by_role("button", name="Stop").click()
    await site.control.engine.settle()
    await page.goto(f"{site.url}/")
    await expect(page.get_by_role("row", name="plain")).to_contain_text("Stopped")


async def test_both_themes_and_languages_are_one_press_away(site: Site) -> None:
    page = await site.open()
    await page.get_by_role("link", name="简体中文").click()
    await expect(page.get_by_role("heading", name="启动工作区")).to_be_visible()
    await page.get_by_role("link", name="深色主题").click()
    await expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    await page.goto(f"{site.url}/disks")
    await expect(page.get_by_role("heading", name="磁盘", exact=True)).to_be_visible()
    await expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
