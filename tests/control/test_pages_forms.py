"""The pages without script: forms that start, refuse, cancel and stop, in two languages, with nothing inline."""

from __future__ import annotations

import asyncio
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
from gearshift_hub.control.app import plug
from gearshift_hub.control.hub import HubDownError, HubUser
from gearshift_hub.control.services import disk_care
from gearshift_testing.controls import Browser, Control, Person
from gearshift_testing.fakes import idle, refuse, until


@pytest.fixture(autouse=True)
def plugged(control: Control) -> None:
    plug(control.ctx)


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """Pages ask the database nothing of their own: one kind is enough."""
    shutil.copyfile(request.getfixturevalue("migrated_sqlite"), tmp_path / "control.sqlite")
    return f"sqlite:///{tmp_path / 'control.sqlite'}"


@pytest.fixture
def browser(control: Control, alice: Person) -> Browser:
    return control.browser("alice")


class Inputs(HTMLParser):
    """The fields of a page: name -> values that would be sent."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        field = dict(attrs)
        if tag != "input" or not field.get("name") or "disabled" in field:
            return
        if field.get("type") in ("radio", "checkbox") and "checked" not in field:
            return
        self.sent.setdefault(str(field["name"]), []).append(field.get("value") or "")


def text(page: httpx.Response) -> str:
    """What a person reads."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


async def press(browser: Browser, path: str, **fields: Any) -> httpx.Response:
    """Send a form with the page's token in it."""
    return await browser.request("POST", path, data={"_xsrf": browser.xsrf, **fields})


async def start(browser: Browser, **changes: Any) -> httpx.Response:
    """Fill the start form as it is drawn, change some fields, press Start."""
    page = await browser.request("GET", "/start")
    fields = Inputs(page.text).sent
    shown = {"cpu-small": 100_000_000, "gpu-1": 1_000_000_000, "gpu-4": 4_000_000_000}
    machine = changes.get("machine", "cpu-small")
    wanted: dict[str, Any] = {
        "name": "work",
        "image": fields["image"][0],
        "machine": machine,
        "seen_price": str(shown.get(machine, 0)),
        **changes,
    }
    return await press(browser, "/start", **wanted)


async def test_who_is_not_signed_in_is_sent_to_the_hub_and_back(control: Control) -> None:
    async with control.outside() as client:
        for path in ("/", "/start?machine=gpu-1", "/workspaces/alice/work", "/disks"):
            answer = await client.get(path)
            assert answer.status_code == 302
            assert answer.headers["location"].startswith("/hub/api/oauth2/authorize?")


async def test_without_a_workspace_home_leads_to_the_start_form(browser: Browser) -> None:
    answer = await browser.request("GET", "/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/services/gearshift/start")
    assert "No workspaces yet" in text(await browser.request("GET", "/?stay=1"))


async def test_the_form_draws_what_works_and_nothing_else(browser: Browser) -> None:
    page = await browser.request("GET", "/start")
    assert page.status_code == 200
    fields = Inputs(page.text).sent
    assert fields["image"] == ["pytorch"]
    assert fields["machine"] == ["cpu-small"]
    assert fields["name"] == ["workspace"]
    said = text(page)
    for present in (
        "16 of 16 free",
        "Sold out",
        "simulated",
        "Start · ¥0.10/h",
        "Palmer penguins",
        "home",
        "¥1,000.00",
    ):
        assert present in said
    for absent in ("Spot", "Month", "waitlist", "budget", "Apps", "Team"):
        assert absent not in said


async def test_nothing_on_any_page_is_inline_and_the_policy_says_so(browser: Browser) -> None:
    await start(browser)
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


async def test_pressing_start_starts_and_leads_to_the_steps_and_then_into_the_lab(
    control: Control, browser: Browser
) -> None:
    gate = asyncio.Event()
    control.hub.faults.at("start", until(gate))
    answer = await start(browser, machine="gpu-1", dataset="iris")
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/services/gearshift/workspaces/alice/work",
    )
    page = await browser.request("GET", "/workspaces/alice/work")
    said = text(page)
    for expected in (
        "Starting work",
        "Nothing is charged until then",
        "Step 4 of 5",
        "GPU reserved",
        "1 of 2 still free",
        "home, iris",
        "Open JupyterLab",
        "Cancel start",
    ):
        assert expected in said
    assert "aria-current=step" in page.text
    gate.set()
    await control.engine.settle()
    landed = await browser.request("GET", "/workspaces/alice/work")
    assert (landed.status_code, landed.headers["location"]) == (303, "/user/alice/work/")


@pytest.mark.parametrize("name", ["../x", "测试 a@b", "a" * 300, "", "A", "9x", "<script>"])
async def test_a_bad_name_is_told_under_its_field_and_the_form_stays(
    control: Control, browser: Browser, name: str
) -> None:
    page = await start(browser, name=name, machine="gpu-1", dataset="iris")
    assert page.status_code == 422
    assert 'id="gs-fault-name"' in page.text
    assert "Use 1–30 of a–z, 0–9 and -, beginning with a letter." in text(page)
    fields = Inputs(page.text).sent
    assert (fields["name"], fields["machine"], fields["dataset"]) == ([name], ["gpu-1"], ["iris"])
    assert "<script>" not in page.text.replace("<script src=", "").replace('<script type="', "")
    assert control.hub.servers_by_id == {}


@pytest.mark.parametrize(
    ("field", "value", "beside"),
    [
        ("machine", "gpu-9", "machine"),
        ("image", "none", "image"),
        ("dataset", "mnist", "datasets"),
        ("disk", "d-9", "disks"),
    ],
)
async def test_a_choice_that_is_not_there_is_told_beside_it(
    control: Control, browser: Browser, field: str, value: str, beside: str
) -> None:
    page = await start(browser, **{field: value})
    assert page.status_code in (404, 409, 422)
    assert f'id="gs-fault-{beside}"' in page.text
    assert value in text(page)
    assert control.hub.servers_by_id == {}


async def test_a_name_already_taken_does_not_change_that_workspace(browser: Browser) -> None:
    await start(browser)
    page = await start(browser, machine="gpu-1")
    assert page.status_code == 422
    assert "You have a workspace work already" in text(page)


async def test_a_price_that_changed_after_the_form_was_drawn_is_shown_and_must_be_pressed_again(
    control: Control, browser: Browser
) -> None:
    page = await start(browser, machine="gpu-4", seen_price="100000000")
    assert page.status_code == 409
    assert "The total is now ¥4.00/h. Check it and press Start again." in text(page)
    assert control.hub.servers_by_id == {}
    again = await press(
        browser, "/start", **{k: v for k, v in Inputs(page.text).sent.items() if k != "_xsrf"}
    )
    assert again.status_code == 303


async def test_sold_out_says_why_that_nothing_was_charged_and_what_would_work(
    control: Control, browser: Browser, bob: Person
) -> None:
    await bob.start("one", machine="gpu-4")
    page = await start(browser, name="late", machine="gpu-4", dataset="iris")
    assert page.status_code == 409
    said = text(page)
    assert "GPU × 4 sold out a moment ago" in said
    assert "late was not started. Nothing was charged. Your choices are kept." in said
    alternatives = re.findall(r'name="machine" value="([^"]+)"', page.text)
    assert 1 <= len(alternatives) <= 3
    form = Inputs(page.text).sent
    fields = {"name": "late", "image": form["image"][0], "dataset": "iris"}
    answer = await press(
        browser, "/start", **fields, machine=alternatives[0], seen_price=form["seen_price"][0]
    )
    assert answer.status_code == 303
    await control.engine.settle()
    assert (await control.person("alice").workspace("late"))["spec"]["machine"] == alternatives[0]
    back = re.search(r'href="([^"]+/start\?[^"]+)"', page.text)
    assert back is not None
    kept = await browser.request("GET", unescape(back.group(1)).removeprefix("/services/gearshift"))
    assert Inputs(kept.text).sent["dataset"] == ["iris"]


async def test_other_refusals_have_a_page_with_their_sentence(control: Control, browser: Browser) -> None:
    for number in range(5):
        await start(browser, name=f"work-{number}")
        await control.engine.settle()
    page = await start(browser, name="one-more")
    assert page.status_code == 403
    assert "Not started" in text(page)
    assert "5 of 5 running workspaces" in text(page)
    assert "Nothing was charged" in text(page)


async def test_a_start_that_failed_says_which_step_and_that_nothing_was_charged(
    control: Control, browser: Browser
) -> None:
    control.hub.faults.at("start", refuse("start_failed", exit=137))
    await start(browser)
    await control.engine.settle()
    page = await browser.request("GET", "/workspaces/alice/work")
    said = text(page)
    assert "exit 137" in said
    assert "Nothing was charged" in said
    assert "Starting PyTorch : failed" in said
    assert "Start as it was · ¥0.10/h" in said
    assert (await press(browser, "/workspaces/alice/work/start")).status_code == 303
    await control.engine.settle()
    assert (await control.person("alice").workspace())["state"] == "ready"


async def test_cancelling_a_start_gives_everything_back(control: Control, browser: Browser) -> None:
    control.hub.faults.at("start", until(asyncio.Event()))
    await start(browser, machine="gpu-4")
    await idle()
    answer = await press(browser, "/workspaces/alice/work/cancel")
    assert answer.status_code == 303
    await control.engine.settle()
    page = await browser.request("GET", "/workspaces/alice/work")
    assert "Stopped" in text(page)
    assert (await press(browser, "/workspaces/alice/work/cancel")).status_code == 303
    form = await browser.request("GET", "/start")
    assert "1 of 1 free" in text(form)


async def test_stopping_is_confirmed_with_what_stays_and_what_it_costs(
    control: Control, browser: Browser
) -> None:
    await start(browser)
    await control.engine.settle()
    page = await browser.request("GET", "/workspaces/alice/work/stop")
    assert "Stop work?" in text(page)
    assert "¥0.10/h" in text(page)
    assert "kept for 7 days" in text(page)
    assert (await control.person("alice").workspace())["state"] == "ready"
    plan = Inputs(page.text).sent["plan"][0]
    await press(browser, "/workspaces/alice/work/stop", plan=plan)
    await control.engine.settle()
    assert (await control.person("alice").workspace())["state"] == "stopped"
    again = await press(browser, "/workspaces/alice/work/stop", plan=plan)
    assert again.headers["location"].endswith("/workspaces/alice/work/stop")
    home = text(await browser.request("GET", "/"))
    assert "Stopped as asked" in home


async def test_start_as_it_was_is_offered_with_image_machine_and_reason(
    control: Control, browser: Browser
) -> None:
    await start(browser, machine="gpu-1")
    await control.engine.settle()
    await control.person("alice").stop()
    said = text(await browser.request("GET", "/start"))
    assert "Start work as it was" in said
    assert "PyTorch · GPU · Stopped 2026-11-30 20:52: as asked." in said
    changed = await browser.request("GET", "/start?from=work")
    fields = Inputs(changed.text).sent
    assert (fields["name"], fields["editing"], fields["machine"]) == (["work"], ["work"], ["gpu-1"])


async def test_a_query_fills_the_form_and_starts_nothing(control: Control, browser: Browser) -> None:
    page = await browser.request("GET", "/start?name=vlm&machine=gpu-1&dataset=iris&_xsrf=x")
    fields = Inputs(page.text).sent
    assert (fields["name"], fields["machine"], fields["dataset"]) == (["vlm"], ["gpu-1"], ["iris"])
    assert "Start · ¥1.00/h" in text(page)
    assert control.hub.servers_by_id == {}


async def test_a_form_without_the_pages_token_changes_nothing(control: Control, browser: Browser) -> None:
    for token in ("", "wrong", control.browser("alice").xsrf[:-1]):
        fields = {"name": "work", "image": "pytorch", "machine": "cpu-small", "seen_price": "100000000"}
        answer = await browser.request("POST", "/start", data={"_xsrf": token, **fields})
        assert answer.status_code == 403
        assert "text/html" in answer.headers["content-type"]
        assert "Reload the page" in text(answer)
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
        assert "holds a NUL" in text(page)
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
        assert "启动工作区" in text(chinese)
        assert "启动 · ¥0.10/h" in text(chinese)
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


async def test_disks_are_made_and_shared_by_form(control: Control, browser: Browser, bob: Person) -> None:
    assert (await press(browser, "/disks", name="team", size_gb="20")).status_code == 303
    disk = (await control.person("alice").get("/disks/team")).json()
    assert disk["quota_bytes"] == 20 * 10**9
    assert (await press(browser, "/disks/share", disk=disk["id"], user="bob", mode="rw")).status_code == 303
    said = text(await browser.request("GET", "/disks"))
    assert "bob read-write" in said
    for fields, status, expected in (
        ({"name": "../x", "size_gb": "20"}, 422, "beginning with a letter"),
        ({"name": "team", "size_gb": "20"}, 409, "You have a disk"),
        ({"name": "more", "size_gb": "lots"}, 422, "lots"),
        ({"name": "more", "size_gb": "999999999"}, 413, "at most"),
    ):
        page = await press(browser, "/disks", **fields)
        assert page.status_code == status
        assert expected in text(page)
        assert Inputs(page.text).sent["name"] == [fields["name"]]
    nobody = await press(browser, "/disks/share", disk=disk["id"], user="nobody", mode="ro")
    assert (nobody.status_code, "nobody" in text(nobody)) == (404, True)


async def test_the_form_lists_disks_with_mode_owner_and_a_word_when_almost_full(
    control: Control, browser: Browser, bob: Person
) -> None:
    await bob.post("/disks", {"name": "archive", "quota_bytes": 1_000_000})
    disk = (await bob.get("/disks")).json()[1]["id"]
    async with control.outside(bob.headers) as client:
        await client.put(f"/api/v1/disks/{disk}/members/alice", json={"mode": "ro"})
    (control.ctx.home.disks / disk / "data").write_bytes(b"x" * 950_000)
    await disk_care.once(control.ctx)
    said = text(await browser.request("GET", "/start"))
    assert "archive read-only, of bob almost full 954 kB / 1 MB" in re.sub(r"95\d(\.\d)? kB", "954 kB", said)
    answer = await start(browser, disk=disk)
    assert answer.status_code == 303
    spec = (await control.person("alice").workspace())["spec"]
    assert spec["disks"] == [{"disk": disk, "mode": "ro"}]


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
    assert "Gearshift cannot be reached now" in text(page)
    assert "Running workspaces and jobs go on" in text(page)


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
        assert (await start(browser)).headers["location"] == "/team/services/gearshift/workspaces/alice/work"
        await control.engine.settle()
    finally:
        await control.close()
