"""The pages without script: forms that start, refuse, cancel and stop, in two languages, with nothing inline."""

from __future__ import annotations

import asyncio
import re
from html import unescape

import pytest
from gearshift_hub.control.app import plug
from gearshift_hub.control.services import disk_care
from gearshift_testing.controls import ON_SQLITE, Browser, Control, Person
from gearshift_testing.fakes import idle, refuse, until
from gearshift_testing.page_forms import Inputs, press, press_start, read


@pytest.fixture(autouse=True)
def plugged(control: Control) -> None:
    plug(control.ctx)


pytestmark = ON_SQLITE
"""Pages ask the database nothing of their own: one kind is enough."""


@pytest.fixture
def browser(control: Control, alice: Person) -> Browser:
    return control.browser("alice")


async def test_without_a_workspace_home_leads_to_the_start_form(browser: Browser) -> None:
    answer = await browser.request("GET", "/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/services/gearshift/start")
    assert "No workspaces yet" in read(await browser.request("GET", "/?stay=1"))


async def test_the_form_draws_what_works_and_nothing_else(browser: Browser) -> None:
    page = await browser.request("GET", "/start")
    assert page.status_code == 200
    fields = Inputs(page.text).sent
    assert fields["image"] == ["pytorch"]
    assert fields["machine"] == ["cpu-small"]
    assert fields["name"] == ["workspace"]
    said = read(page)
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


async def test_pressing_start_starts_and_leads_to_the_steps_and_then_into_the_lab(
    control: Control, browser: Browser
) -> None:
    gate = asyncio.Event()
    control.hub.faults.at("start", until(gate))
    answer = await press_start(browser, machine="gpu-1", dataset="iris")
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/services/gearshift/workspaces/alice/work",
    )
    page = await browser.request("GET", "/workspaces/alice/work")
    said = read(page)
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
    page = await press_start(browser, name=name, machine="gpu-1", dataset="iris")
    assert page.status_code == 422
    assert 'id="gs-fault-name"' in page.text
    assert "Use 1–30 of a–z, 0–9 and -, beginning with a letter." in read(page)
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
    page = await press_start(browser, **{field: value})
    assert page.status_code in (404, 409, 422)
    assert f'id="gs-fault-{beside}"' in page.text
    assert value in read(page)
    assert control.hub.servers_by_id == {}


async def test_a_name_already_taken_does_not_change_that_workspace(browser: Browser) -> None:
    await press_start(browser)
    page = await press_start(browser, machine="gpu-1")
    assert page.status_code == 422
    assert "You have a workspace work already" in read(page)


async def test_a_price_that_changed_after_the_form_was_drawn_is_shown_and_must_be_pressed_again(
    control: Control, browser: Browser
) -> None:
    page = await press_start(browser, machine="gpu-4", seen_price="100000000")
    assert page.status_code == 409
    assert "The total is now ¥4.00/h. Check it and press Start again." in read(page)
    assert control.hub.servers_by_id == {}
    again = await press(
        browser, "/start", **{k: v for k, v in Inputs(page.text).sent.items() if k != "_xsrf"}
    )
    assert again.status_code == 303


async def test_sold_out_says_why_that_nothing_was_charged_and_what_would_work(
    control: Control, browser: Browser, bob: Person
) -> None:
    await bob.start("one", machine="gpu-4")
    page = await press_start(browser, name="late", machine="gpu-4", dataset="iris")
    assert page.status_code == 409
    said = read(page)
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
        await press_start(browser, name=f"work-{number}")
        await control.engine.settle()
    page = await press_start(browser, name="one-more")
    assert page.status_code == 403
    assert "Not started" in read(page)
    assert "5 of 5 running workspaces" in read(page)
    assert "Nothing was charged" in read(page)


async def test_a_start_that_failed_says_which_step_and_that_nothing_was_charged(
    control: Control, browser: Browser
) -> None:
    control.hub.faults.at("start", refuse("start_failed", exit=137))
    await press_start(browser)
    await control.engine.settle()
    page = await browser.request("GET", "/workspaces/alice/work")
    said = read(page)
    assert "exit 137" in said
    assert "Nothing was charged" in said
    assert "Starting PyTorch : failed" in said
    assert "Start as it was · ¥0.10/h" in said
    assert (await press(browser, "/workspaces/alice/work/start")).status_code == 303
    await control.engine.settle()
    assert (await control.person("alice").workspace())["state"] == "ready"


async def test_cancelling_a_start_gives_everything_back(control: Control, browser: Browser) -> None:
    control.hub.faults.at("start", until(asyncio.Event()))
    await press_start(browser, machine="gpu-4")
    await idle()
    answer = await press(browser, "/workspaces/alice/work/cancel")
    assert answer.status_code == 303
    await control.engine.settle()
    page = await browser.request("GET", "/workspaces/alice/work")
    assert "Stopped" in read(page)
    assert (await press(browser, "/workspaces/alice/work/cancel")).status_code == 303
    form = await browser.request("GET", "/start")
    assert "1 of 1 free" in read(form)


async def test_stopping_is_confirmed_with_what_stays_and_what_it_costs(
    control: Control, browser: Browser
) -> None:
    await press_start(browser)
    await control.engine.settle()
    page = await browser.request("GET", "/workspaces/alice/work/stop")
    assert "Stop work?" in read(page)
    assert "¥0.10/h" in read(page)
    assert "kept for 7 days" in read(page)
    assert (await control.person("alice").workspace())["state"] == "ready"
    plan = Inputs(page.text).sent["plan"][0]
    await press(browser, "/workspaces/alice/work/stop", plan=plan)
    await control.engine.settle()
    assert (await control.person("alice").workspace())["state"] == "stopped"
    again = await press(browser, "/workspaces/alice/work/stop", plan=plan)
    assert again.headers["location"].endswith("/workspaces/alice/work/stop")
    home = read(await browser.request("GET", "/"))
    assert "Stopped as asked" in home


async def test_start_as_it_was_is_offered_with_image_machine_and_reason(
    control: Control, browser: Browser
) -> None:
    await press_start(browser, machine="gpu-1")
    await control.engine.settle()
    await control.person("alice").stop()
    said = read(await browser.request("GET", "/start"))
    assert "Start work as it was" in said
    assert "PyTorch · GPU · Stopped 2026-11-30 20:52: as asked." in said
    changed = await browser.request("GET", "/start?from=work")
    fields = Inputs(changed.text).sent
    assert (fields["name"], fields["editing"], fields["machine"]) == (["work"], ["work"], ["gpu-1"])


async def test_a_query_fills_the_form_and_starts_nothing(control: Control, browser: Browser) -> None:
    page = await browser.request("GET", "/start?name=vlm&machine=gpu-1&dataset=iris&_xsrf=x")
    fields = Inputs(page.text).sent
    assert (fields["name"], fields["machine"], fields["dataset"]) == (["vlm"], ["gpu-1"], ["iris"])
    assert "Start · ¥1.00/h" in read(page)
    assert control.hub.servers_by_id == {}


async def test_disks_are_made_and_shared_by_form(control: Control, browser: Browser, bob: Person) -> None:
    assert (await press(browser, "/disks", name="team", size_gb="20")).status_code == 303
    disk = (await control.person("alice").get("/disks/team")).json()
    assert disk["quota_bytes"] == 20 * 10**9
    assert (await press(browser, "/disks/share", disk=disk["id"], user="bob", mode="rw")).status_code == 303
    said = read(await browser.request("GET", "/disks"))
    assert "bob read-write" in said
    for fields, status, expected in (
        ({"name": "../x", "size_gb": "20"}, 422, "beginning with a letter"),
        ({"name": "team", "size_gb": "20"}, 409, "You have a disk"),
        ({"name": "more", "size_gb": "lots"}, 422, "lots"),
        ({"name": "more", "size_gb": "999999999"}, 413, "at most"),
    ):
        page = await press(browser, "/disks", **fields)
        assert page.status_code == status
        assert expected in read(page)
        assert Inputs(page.text).sent["name"] == [fields["name"]]
    nobody = await press(browser, "/disks/share", disk=disk["id"], user="nobody", mode="ro")
    assert (nobody.status_code, "nobody" in read(nobody)) == (404, True)


async def test_the_form_lists_disks_with_mode_owner_and_a_word_when_almost_full(
    control: Control, browser: Browser, bob: Person
) -> None:
    await bob.post("/disks", {"name": "archive", "quota_bytes": 1_000_000})
    disk = (await bob.get("/disks")).json()[1]["id"]
    async with control.outside(bob.headers) as client:
        await client.put(f"/api/v1/disks/{disk}/members/alice", json={"mode": "ro"})
    (control.ctx.home.disks / disk / "data").write_bytes(b"x" * 950_000)
    await disk_care.once(control.ctx)
    said = read(await browser.request("GET", "/start"))
    assert "archive read-only, of bob almost full 954 kB / 1 MB" in re.sub(r"95\d(\.\d)? kB", "954 kB", said)
    answer = await press_start(browser, disk=disk)
    assert answer.status_code == 303
    spec = (await control.person("alice").workspace())["spec"]
    assert spec["disks"] == [{"disk": disk, "mode": "ro"}]
