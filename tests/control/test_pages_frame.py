"""What holds for every page: who may see it, nothing inline, the page's token, languages, themes, addresses."""

from __future__ import annotations

import re
import shutil
from typing import Any

import httpx
import pytest
from gearshift_hub.control.app import plug
from gearshift_hub.control.hub import HubDownError, HubUser
from gearshift_testing.controls import ON_SQLITE, Browser, Control, Person
from gearshift_testing.page_forms import press, press_start, read


@pytest.fixture(autouse=True)
def plugged(control: Control) -> None:
    plug(control.ctx)


pytestmark = ON_SQLITE
"""Pages ask the database nothing of their own: one kind is enough."""


@pytest.fixture
def browser(control: Control, alice: Person) -> Browser:
    return control.browser("alice")


async def test_who_is_not_signed_in_is_sent_to_the_hub_and_back(control: Control) -> None:
    async with control.outside() as client:
        for path in ("/", "/start?machine=gpu-1", "/workspaces/alice/work", "/disks"):
            answer = await client.get(path)
            assert answer.status_code == 302
            assert answer.headers["location"].startswith("/hub/api/oauth2/authorize?")


async def test_nothing_on_any_page_is_inline_and_the_policy_says_so(browser: Browser) -> None:
    await press_start(browser)
    pages = (
        "/start",
        "/?stay=1",
        "/disks",
        "/workspaces/alice/work",
        "/workspaces/alice/work/stop",
        "/workspaces/alice/none",
    )
    for path in pages:
        page = await browser.request("GET", path)
        policy = page.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert not re.search(r"<[^>]+\s(style|on\w+)=", page.text), path
        scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page.text, flags=re.DOTALL)
        assert all(
            "src=" in attributes or 'type="application/json"' in attributes for attributes, _ in scripts
        )
        assert all(not body.strip() for attributes, body in scripts if "src=" in attributes)


async def test_a_form_without_the_pages_token_changes_nothing(control: Control, browser: Browser) -> None:
    for token in ("", "wrong", control.browser("alice").xsrf[:-1]):
        fields = {"name": "work", "image": "pytorch", "machine": "cpu-small", "seen_price": "100000000"}
        answer = await browser.request("POST", "/start", data={"_xsrf": token, **fields})
        assert answer.status_code == 403
        assert "text/html" in answer.headers["content-type"]
        assert "Reload the page" in read(answer)
    for path in (
        "/workspaces/alice/work/start",
        "/workspaces/alice/work/cancel",
        "/workspaces/alice/work/stop",
        "/disks",
        "/disks/share",
    ):
        assert (await browser.request("POST", path, data={})).status_code == 403
    assert control.hub.servers_by_id == {}


async def test_fields_that_no_database_could_keep_are_refused(control: Control, browser: Browser) -> None:
    for path, fields in (
        ("/start", {"name": "a\0b", "image": "pytorch", "machine": "cpu-small"}),
        ("/start", {"name": "ab", "image": "pytorch", "machine": "cpu-small", "disk": "d\0"}),
        ("/disks/share", {"disk": "d", "user": "b\0b", "mode": "ro"}),
        ("/workspaces/alice/work/stop", {"plan": "plan\0"}),
    ):
        page = await press(browser, path, **fields)
        assert page.status_code == 422
        assert "holds a NUL" in read(page)
    files = await browser.request(
        "POST", "/start", data={"_xsrf": browser.xsrf, "name": "ab"}, files={"image": ("x", b"pytorch")}
    )
    assert files.status_code in (404, 422)
    assert control.hub.servers_by_id == {}


async def test_somebody_elses_workspace_and_one_that_is_not_there_are_pages_too(
    browser: Browser, bob: Person
) -> None:
    await bob.start("work")
    for path, status in (
        ("/workspaces/bob/work", 403),
        ("/workspaces/bob/work/stop", 403),
        ("/workspaces/alice/none", 404),
        ("/start?from=none", 404),
    ):
        page = await browser.request("GET", path)
        assert page.status_code == status
        assert "text/html" in page.headers["content-type"]
    assert (await press(browser, "/workspaces/bob/work/start")).status_code == 403
    assert (await press(browser, "/workspaces/bob/work/cancel")).status_code == 403


async def test_the_language_follows_query_cookie_browser_and_site(control: Control, browser: Browser) -> None:
    def language(page: httpx.Response) -> str:
        found = re.search(r'<html lang="([^"]+)"', page.text)
        assert found
        return found.group(1)

    assert language(await browser.request("GET", "/start")) == "en"
    headers = {"Cookie": browser.cookie, "Accept-Language": "fr, zh-TW;q=0.8, en;q=0.5"}
    async with control.outside(headers) as client:
        chinese = await client.get("/start")
        assert language(chinese) == "zh-CN"
        assert "启动工作区" in read(chinese)
        assert "启动 · ¥0.10/h" in read(chinese)
        chosen = await client.get("/start?lang=en&machine=gpu-1")
        assert language(chosen) == "en"
        assert "gearshift-language=en" in chosen.headers["set-cookie"]
    async with control.outside({"Cookie": f"{browser.cookie}; gearshift-language=zh-CN"}) as client:
        assert language(await client.get("/start")) == "zh-CN"
        assert language(await client.get("/start?lang=xx")) == "zh-CN"


async def test_the_theme_is_kept_and_switching_keeps_the_query(control: Control, browser: Browser) -> None:
    page = await browser.request("GET", "/start?theme=dark&machine=gpu-1")
    assert 'data-jp-theme-light="false"' in page.text
    assert "gearshift-theme=dark" in page.headers["set-cookie"]
    assert "?machine=gpu-1&amp;theme=light" in page.text
    async with control.outside({"Cookie": f"{browser.cookie}; gearshift-theme=dark"}) as client:
        assert 'data-jp-theme-light="false"' in (await client.get("/start")).text
    assert 'data-theme="auto"' in (await browser.request("GET", "/start")).text


async def test_names_from_people_are_text_and_isolated(control: Control, browser: Browser) -> None:
    odd = await control.add_person("<b>eve")
    await odd.post("/disks", {"name": "shared"})
    disk = (await odd.get("/disks")).json()[1]["id"]
    async with control.outside(odd.headers) as client:
        await client.put(f"/api/v1/disks/{disk}/members/alice", json={"mode": "ro"})
    for path in ("/start", "/disks"):
        page = (await browser.request("GET", path)).text
        assert "&lt;b&gt;eve" in page
        assert "<b>eve" not in page
    eve = control.browser("<b>eve")
    assert "<bdi>&lt;b&gt;eve</bdi>" in (await eve.request("GET", "/start")).text


async def test_static_files_are_kept_for_good_under_their_version_and_nothing_else_is_served(
    control: Control, browser: Browser
) -> None:
    page = (await browser.request("GET", "/start")).text
    files = set(re.findall(r'/services/gearshift(/static/[^"#]+)', page))
    assert len(files) >= 6
    async with control.outside() as client:
        for path in files:
            answer = await client.get(path)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
        assert "max-age=60" in (await client.get("/static/pages.css")).headers["cache-control"]
        for path in (
            "/static/none.css",
            "/static/..%2fframe.py",
            "/static/x/../../frame.py",
            "/static/x/%2e%2e",
        ):
            assert (await client.get(path)).status_code == 404


class AwayHub:
    """A hub that does not answer."""

    async def whoami(self, _token: str) -> HubUser | None:
        raise HubDownError("connection refused")


async def test_a_hub_that_is_away_gives_a_page_that_says_so(control: Control, browser: Browser) -> None:
    control.ctx.hub = AwayHub()  # type: ignore[assignment]  # only asked who somebody is
    page = await browser.request("GET", "/start")
    assert page.status_code == 503
    assert "Gearshift cannot be reached now" in read(page)
    assert "Running workspaces and jobs go on" in read(page)


async def test_everything_works_under_a_base_url(tmp_path: Any, migrated_sqlite: Any) -> None:
    shutil.copyfile(migrated_sqlite, tmp_path / "team.sqlite")
    control = Control(f"sqlite:///{tmp_path / 'team.sqlite'}", base_url="/team/")
    try:
        plug(control.ctx)
        await control.add_person("alice")
        browser = control.browser("alice")
        page = await browser.request("GET", "/start")
        assert page.status_code == 200
        links = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
        assert [link for link in links if not link.startswith("/team/")] == []
        assert (await press_start(browser)).headers[
            "location"
        ] == "/team/services/gearshift/workspaces/alice/work"
        await control.engine.settle()
    finally:
        await control.close()
