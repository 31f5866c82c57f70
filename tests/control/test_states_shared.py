"""Kernel state on a shared disk: brought in by its owner's press only, and only as it was shown."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from gearshift_hub.control.app import plug
from gearshift_testing.controls import ON_SQLITE, Browser, Control, Person
from gearshift_testing.disk_calls import make_disk, share_disk
from gearshift_testing.fakes import server_away, until

pytestmark = ON_SQLITE

LIES = ("team", "op-1")


@pytest.fixture
async def browser(control: Control, alice: Person) -> Browser:
    """Of alice, whose workspace has a disk on which a state of hers lies."""
    plug(control.ctx)
    disk = await make_disk(alice)
    await share_disk(alice, disk["id"], "bob")
    await alice.start(disks=[{"disk": disk["id"], "mode": "rw"}])
    control.servers.on_disks[LIES] = {"model": 7}
    return control.browser("alice")


@pytest.fixture(autouse=True)
async def _known(bob: Person) -> None:
    """He is on the disk."""


def asked(**changes: Any) -> dict[str, Any]:
    return {"kind": "import_state", "workspace": "alice/work", "disk": "team", "state": "op-1", **changes}


async def post(browser: Browser, path: str, body: dict[str, Any]) -> httpx.Response:
    return await browser.request("POST", f"/api/v1{path}", json=body, xsrf=browser.xsrf)


async def planned(browser: Browser) -> dict[str, Any]:
    answer = await post(browser, "/plans", asked())
    assert answer.status_code == 201, answer.text
    plan: dict[str, Any] = answer.json()
    return plan


async def press(browser: Browser, plan: dict[str, Any]) -> httpx.Response:
    return await post(browser, f"/plans/{plan['id']}/confirm", {"press": True})


async def ended(control: Control, pressed: httpx.Response) -> dict[str, Any]:
    assert pressed.status_code == 202, pressed.text
    return (await control.ended(pressed.json()["id"])).model_dump(mode="json")


async def test_a_press_brings_in_what_was_shown(control: Control, alice: Person, browser: Browser) -> None:
    plan = await planned(browser)
    shown = plan["figures"]
    assert (shown["disk"]["name"], shown["disk"]["others"], shown["from"]) == ("team", ["bob"], "alice/work")
    operation = await ended(control, await press(browser, plan))
    assert operation["state"] == "done", operation["error"]
    assert control.hub.running[0].variables == {"model": 7}
    kept = (await alice.get("/workspaces/alice/work/states")).json()
    assert [(one["id"], one["note"]) for one in kept] == [(operation["id"], "team: op-1")]


async def test_no_token_and_no_script_can_agree(control: Control, alice: Person, browser: Browser) -> None:
    plan = await alice.plan("import_state", **{k: v for k, v in asked().items() if k != "kind"})
    caps = {"max_price_nano": 10**12, "max_cost_nano": 10**12}
    server = control.workspace_token("alice", "work")
    for who in (alice, server):
        for said in ({"terminal": True}, {"press": True}, caps):
            answer = await who.post(f"/plans/{plan['id']}/confirm", said)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "needs_press")
    without = await browser.request("POST", f"/api/v1/plans/{plan['id']}/confirm", json={"press": True})
    assert (without.status_code, without.json()["error"]["code"]) == (403, "csrf"), "another site"
    assert control.hub.running[0].variables == {}


async def test_it_is_for_its_owner_alone(
    control: Control, bob: Person, root: Person, browser: Browser
) -> None:
    plan = await planned(browser)
    for who in (bob, root):
        answer = await who.post("/plans", asked())
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    other = control.browser("bob")
    assert (await press(other, plan)).json()["error"]["code"] == "plan_unknown"
    async with control.outside() as nobody:
        assert (await nobody.post("/api/v1/plans", json=asked())).status_code == 401


async def test_what_was_changed_after_it_was_shown_is_shown_anew(control: Control, browser: Browser) -> None:
    plan = await planned(browser)
    control.servers.on_disks[LIES] = {"model": "evil"}
    answer = await press(browser, plan)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "plan_stale")
    assert (await press(browser, plan)).json()["error"]["code"] == "plan_used"
    assert control.hub.running[0].variables == {}


async def test_what_is_changed_after_the_press_is_refused_and_nothing_stays(
    control: Control, alice: Person, browser: Browser
) -> None:
    plan = await planned(browser)

    async def change() -> None:
        control.servers.on_disks[LIES] = {"model": "evil"}

    control.servers.faults.at("bring_in", change)
    operation = await ended(control, await press(browser, plan))
    assert (operation["state"], operation["error"]["code"]) == ("failed", "state_refused")
    assert control.hub.running[0].variables == {}
    assert control.box.forgotten == [operation["id"]]
    assert (await alice.get("/workspaces/alice/work/states")).json() == []


async def test_consent_ends_with_the_plan(control: Control, browser: Browser) -> None:
    plan = await planned(browser)

    async def slow() -> None:
        await control.clock.advance(minutes=3)

    control.servers.faults.at("bring_in", slow)
    operation = await ended(control, await press(browser, plan))
    assert operation["state"] == "failed"
    plan = await planned(browser)
    await control.clock.advance(minutes=2)
    assert (await press(browser, plan)).json()["error"]["code"] == "plan_stale"
    assert control.hub.running[0].variables == {}


async def test_a_disk_that_the_workspace_does_not_have_is_unknown(
    control: Control, alice: Person, browser: Browser
) -> None:
    await make_disk(alice, name="other")
    for disk in ("other", "none", None, 5, ""):
        answer = await post(browser, "/plans", asked(disk=disk))
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_disk"), disk
    for state in (None, 5, ["x"]):
        answer = await post(browser, "/plans", asked(state=state))
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "state")


async def test_a_server_that_does_not_answer_is_told(control: Control, browser: Browser) -> None:
    control.servers.faults.at("look_at", server_away)
    answer = await post(browser, "/plans", asked())
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "restore_failed")


@pytest.mark.parametrize("stage", ["bring_in", "brought_in", "restore"])
async def test_control_that_dies_on_the_way_brings_it_in_once(
    control: Control, alice: Person, browser: Browser, stage: str
) -> None:
    plan = await planned(browser)
    control.servers.faults.at(stage, until(asyncio.Event()))
    operation = (await press(browser, plan)).json()["id"]
    await control.servers.faults.reached(stage)
    after = await control.again()
    done = (await after.ended(operation)).model_dump(mode="json")
    await after.close()
    assert done["state"] == "done", done["error"]
    assert control.hub.running[0].variables == {"model": 7}
