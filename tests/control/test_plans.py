"""Plans: issued with their figures, confirmed once, by whoever may say yes and in no other way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from gearshift_hub.control.services.plans import KEPT_OF_ONE_PERSON
from gearshift_hub.scopes import PROPOSE, READ
from gearshift_testing.controls import ON_SQLITE, Control, Person

SPEC = {"image": "pytorch", "machine": "cpu-small"}
CAPS = {"max_price_nano": 100_000_000, "max_cost_nano": 10**9}


async def test_a_plan_shows_its_figures_and_does_nothing(control: Control, alice: Person) -> None:
    plan = await alice.plan("start", display_name="My Work", spec=SPEC)
    figures = plan["figures"]
    assert figures["workspace"].startswith("alice/my-work-")
    assert figures["display_name"] == "My Work"
    assert figures["price_per_hour_nano"] == 100_000_000
    assert figures["availability"] == {"free": 16, "total": 16}
    assert (await alice.get("/workspaces")).json() == []
    assert control.hub.running == []


async def test_a_plan_is_accepted_once(control: Control, alice: Person) -> None:
    plan = await alice.plan("start", name="work", spec=SPEC)
    answers = await asyncio.gather(*(alice.confirm(plan) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409]
    assert {_code(answer) for answer in answers if answer.status_code == 409} == {"plan_used"}
    await control.settled()
    assert len(control.hub.running) == 1


async def test_a_plan_is_over_after_two_minutes(control: Control, alice: Person) -> None:
    plan = await alice.plan("start", name="work", spec=SPEC)
    await control.clock.advance(121)
    answer = await alice.confirm(plan)
    assert (answer.status_code, _code(answer)) == (409, "plan_stale")


async def test_a_plan_belongs_to_whom_it_was_shown(control: Control, alice: Person, bob: Person) -> None:
    plan = await alice.plan("start", name="work", spec=SPEC)
    assert _code(await bob.confirm(plan)) == "plan_unknown"
    assert _code(await alice.post("/plans/plan-0/confirm", {"terminal": True})) == "plan_unknown"


@ON_SQLITE
async def test_a_workspaces_own_token_needs_a_press(control: Control, alice: Person) -> None:
    await alice.start()
    inside = control.workspace_token("alice", "work")
    for said in ({}, {"terminal": True}, {"press": True}, CAPS):
        plan = await inside.plan("stop", workspace="alice/work")
        answer = await inside.post(f"/plans/{plan['id']}/confirm", said)
        assert (answer.status_code, _code(answer)) == (403, "needs_confirmation")
    plan = await inside.plan("stop", workspace="alice/work")
    path, pressed = f"/plans/{plan['id']}/confirm", {"press": True}
    for proof in ("1", inside.token, alice.token, control.page_token("bob", "work")):
        assert _code(await inside.post(path, pressed, **{"X-Gearshift-Press": proof})) == "needs_confirmation"
    proof = control.page_token("alice", "work")
    assert (await inside.post(path, pressed, **{"X-Gearshift-Press": proof})).status_code == 202


@ON_SQLITE
async def test_a_stop_says_for_how_long_this_deployment_keeps_the_kernels(
    control: Control, alice: Person
) -> None:
    await alice.start()
    plan = await alice.plan("stop", workspace="alice/work")
    assert plan["figures"]["keep_days"] == control.deployment.state.keep_days > 0


@ON_SQLITE
async def test_a_person_does_not_press_from_a_terminal(control: Control, alice: Person) -> None:
    plan = await alice.plan("start", name="work", spec=SPEC)
    answer = await alice.post(f"/plans/{plan['id']}/confirm", {"press": True}, **{"X-Gearshift-Press": "1"})
    assert _code(answer) == "needs_confirmation"


@ON_SQLITE
async def test_a_browser_presses_and_nothing_else(control: Control, alice: Person) -> None:
    browser = control.browser("alice")
    plan = await alice.plan("start", name="work", spec=SPEC)
    path = f"/api/v1/plans/{plan['id']}/confirm"
    answer = await browser.request("POST", path, xsrf=browser.xsrf, json={"terminal": True})
    assert _code(answer) == "needs_confirmation"
    answer = await browser.request("POST", path, xsrf=browser.xsrf, json={"press": True})
    assert answer.status_code == 202


@ON_SQLITE
@pytest.mark.parametrize(
    ("caps", "code"),
    [
        (CAPS, None),
        ({**CAPS, "max_price_nano": 99_999_999}, "over_cap"),
        ({"max_price_nano": 10**9}, "needs_confirmation"),
        ({"max_cost_nano": 10**9}, "needs_confirmation"),
    ],
)
async def test_a_spend_token_needs_both_caps_and_keeps_to_them(
    control: Control, alice: Person, caps: dict[str, int], code: str | None
) -> None:
    plan = await alice.plan("start", name="work", spec=SPEC)
    answer = await alice.post(f"/plans/{plan['id']}/confirm", caps)
    assert _code(answer) == code
    await control.settled()
    assert (len(control.hub.running) == 1) == (code is None)


@ON_SQLITE
async def test_a_token_that_may_not_spend_cannot_say_yes(control: Control, alice: Person) -> None:
    token = control.hub.give_token("proposing", "alice", [READ, PROPOSE])
    careful = Person(control, "alice", token)
    plan = await careful.plan("start", name="work", spec=SPEC)
    for said in ({"terminal": True}, CAPS):
        assert _code(await careful.post(f"/plans/{plan['id']}/confirm", said)) == "needs_confirmation"


async def test_a_cost_cap_stops_the_workspace_when_it_is_reached(control: Control, alice: Person) -> None:
    plan = await alice.plan("start", name="work", spec=SPEC)
    answer = await alice.post(f"/plans/{plan['id']}/confirm", {**CAPS, "max_cost_nano": 50_000_000})
    await control.ended(answer.json()["id"])
    await control.clock.advance(minutes=29)
    await control.rules()
    assert (await alice.workspace())["state"] == "ready"
    await control.clock.advance(minutes=1)
    await control.rules()
    await control.settled()
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("stopped", "cost_cap")


async def test_figures_that_changed_are_told_and_the_plan_is_void(
    control: Control, alice: Person, bob: Person
) -> None:
    await alice.start()
    control.hub.running[0].variables["x"] = 1
    plan = await alice.plan("switch", workspace="alice/work", machine="sim-1")
    control.hub.running[0].variables["y"] = 2
    answer = await alice.confirm(plan)
    assert (answer.status_code, _code(answer)) == (409, "plan_stale")
    assert answer.json()["error"]["facts"]["what"] == "y"
    assert _code(await alice.confirm(plan)) == "plan_used"


BAD = [
    ({}, "bad_request", "kind"),
    ({"kind": "nonsense"}, "bad_request", "kind"),
    ({"kind": ["start"]}, "bad_request", "kind"),
    ({"kind": "start"}, "bad_name", "name"),
    ({"kind": "start", "name": "../x", "spec": SPEC}, "bad_name", "name"),
    ({"kind": "start", "name": "a" * 300, "spec": SPEC}, "bad_name", "name"),
    ({"kind": "start", "name": 7, "spec": SPEC}, "bad_name", "name"),
    ({"kind": "start", "name": "work"}, "bad_request", "spec"),
    ({"kind": "start", "name": "work", "spec": {**SPEC, "machine": "gpu-9"}}, "unknown_machine", "machine"),
    ({"kind": "start", "name": "work", "spec": {**SPEC, "image": "x"}}, "unknown_image", "image"),
    ({"kind": "start", "name": "work", "spec": {**SPEC, "colour": "red"}}, "bad_request", "colour"),
    ({"kind": "start", "name": "work", "spec": {**SPEC, "plan": "spot"}}, "bad_request", "plan"),
    ({"kind": "start", "name": "work", "spec": {**SPEC, "datasets": ["x"]}}, "unknown_dataset", "datasets"),
    ({"kind": "start", "name": "work", "spec": {**SPEC, "disks": [{"disk": "x"}]}}, "unknown_disk", "disks"),
    ({"kind": "stop", "workspace": "alice/none"}, "unknown_workspace", "workspace"),
    ({"kind": "stop", "workspace": 3}, "unknown_workspace", "workspace"),
    ({"kind": "switch", "workspace": "alice/none", "machine": "sim-1"}, "unknown_workspace", "workspace"),
]


async def test_bad_input_is_refused_whole_with_field_value_and_what_is_allowed(
    control: Control, alice: Person
) -> None:
    for body, code, field in BAD:
        answer = await alice.post("/plans", body)
        error = answer.json()["error"]
        assert 400 <= answer.status_code < 500, body
        assert (error["code"], error["field"]) == (code, field), body
        assert error["message"]
        assert error["message_zh"]
    assert (await alice.get("/workspaces")).json() == []


@ON_SQLITE
async def test_a_display_name_of_any_kind_gets_a_good_id(control: Control, alice: Person) -> None:
    for display in ("测试 a@b", "../x", "9 lives", "a" * 300):
        plan = await alice.plan("start", display_name=display, spec=SPEC)
        assert (await alice.confirm(plan)).status_code == 202
    await control.settled()
    names = [one["name"] for one in (await alice.get("/workspaces")).json()]
    assert len(set(names)) == 4
    assert all(len(name) <= 30 and name[0].isalpha() for name in names)


@ON_SQLITE
async def test_a_confirmation_that_makes_no_sense_is_a_bad_request(control: Control, alice: Person) -> None:
    plan = await alice.plan("start", name="work", spec=SPEC)
    for said in ({"press": "perhaps"}, {"max_price_nano": "a lot"}, {"yes": True}, []):
        answer = await alice.post(f"/plans/{plan['id']}/confirm", said)
        assert (answer.status_code, _code(answer)) == (422, "bad_request")


@ON_SQLITE
async def test_too_many_starts_in_a_minute_wait_for_the_next(control: Control, alice: Person) -> None:
    limits = control.deployment.limits.model_copy(update={"start_rate": 2})
    control.ctx.deployment = control.deployment.model_copy(update={"limits": limits})
    await alice.start("one")
    await alice.start("two")
    answer = await alice.post("/plans", {"kind": "start", "name": "three", "spec": SPEC})
    assert _code(answer) == "limit_reached"
    await control.clock.advance(61)
    assert (await alice.post("/plans", {"kind": "start", "name": "three", "spec": SPEC})).status_code == 201


@ON_SQLITE
async def test_a_limit_on_workspaces_holds(control: Control, alice: Person) -> None:
    for number in range(5):
        await alice.start(f"w{number}")
    answer = await alice.post("/plans", {"kind": "start", "name": "w5", "spec": SPEC})
    assert (answer.status_code, _code(answer)) == (403, "limit_reached")
    await alice.stop("w0")
    assert (await alice.start("w5"))["state"] == "done"


def _code(answer: Any) -> str | None:
    body = answer.json()
    return (body.get("error") or {}).get("code")


async def test_code_that_asks_for_plans_without_end_keeps_only_its_newest(
    control: Control, alice: Person, bob: Person
) -> None:
    of_bob = await bob.plan("start", name="work", spec=SPEC)
    first = await alice.plan("start", name="work", spec=SPEC)
    for _ in range(KEPT_OF_ONE_PERSON):
        await control.clock.advance(0.001)
        last = await alice.plan("start", name="work", spec=SPEC)
    assert _code(await alice.confirm(first)) == "plan_unknown"
    assert (await alice.confirm(last)).status_code == 202
    assert (await bob.confirm(of_bob)).status_code == 202
