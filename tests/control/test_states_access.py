"""Who may list, take, bring back and delete kept state, and who may delete a workspace: owner, admin, and nobody else."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from gearshift_testing.controls import ON_SQLITE, Control, Person

pytestmark = ON_SQLITE

WORK = "alice/work"
STATES = f"/workspaces/{WORK}/states"
PLANS = ("restore_state", "delete_state", "delete_workspace")


@pytest.fixture
async def state(control: Control, alice: Person) -> str:
    """One that lies there of alice's running workspace."""
    await alice.start()
    operation: str = (await alice.post(STATES, {})).json()["id"]
    await control.ended(operation)
    return operation


async def every(who: Person, state: str) -> list[httpx.Response]:
    """All there is to ask for."""
    asked: list[httpx.Response] = [await who.get(STATES), await who.post(STATES, {})]
    for kind in PLANS:
        asked.append(await who.post("/plans", {"kind": kind, "workspace": WORK, "state": state}))
    return asked


async def test_a_stranger_is_refused_everywhere_and_sees_none_in_their_own_list(
    bob: Person, state: str
) -> None:
    for answer in await every(bob, state):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert (await bob.get("/states")).json() == []


async def test_nobody_without_a_token_gets_anything(control: Control, state: str) -> None:
    nobody = Person(control, "nobody", "no-such-token")
    for answer in [*await every(nobody, state), await nobody.get("/states")]:
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")


async def test_an_admin_may_list_and_plan(control: Control, root: Person, state: str) -> None:
    assert [one["id"] for one in (await root.get(STATES)).json()] == [state]
    plan = await root.post("/plans", {"kind": "delete_state", "workspace": WORK, "state": state})
    assert plan.status_code == 201


async def test_a_state_of_another_workspace_is_unknown(bob: Person, state: str) -> None:
    await bob.start()
    body = {"kind": "restore_state", "workspace": "bob/work", "state": state}
    answer = await bob.post("/plans", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_state")


async def test_the_token_in_a_workspace_proposes_and_cannot_confirm(control: Control, state: str) -> None:
    server = control.workspace_token("alice", "work")
    assert (await server.get(STATES)).status_code == 200
    plan = await server.plan("delete_state", workspace=WORK, state=state)
    for said in ({"press": True}, {"terminal": True}):
        answer = await server.post(f"/plans/{plan['id']}/confirm", said)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "needs_confirmation")


async def test_a_plan_of_somebody_else_is_not_confirmed(alice: Person, bob: Person, state: str) -> None:
    plan = await alice.plan("delete_state", workspace=WORK, state=state)
    assert (await bob.confirm(plan)).json()["error"]["code"] == "plan_unknown"


async def test_another_site_cannot_take_one_with_the_cookie_of_a_browser(
    control: Control, alice: Person, state: str
) -> None:
    browser = control.browser("alice")
    body: dict[str, Any] = {"kind": "delete_workspace", "workspace": WORK}
    for path, sent in ((f"/api/v1{STATES}", {}), ("/api/v1/plans", body)):
        answer = await browser.request("POST", path, json=sent)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf")
    form = await browser.request("POST", f"/workspaces/{WORK}/delete", data={"plan": "plan-1"})
    assert form.status_code == 403
    taken = await browser.request("POST", f"/api/v1{STATES}", json={}, xsrf=browser.xsrf)
    assert taken.status_code == 202
