"""The idle rule around a whole control: warned, kept, dropped, stopped, at the end of work; who may; and what is told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from gearshift.model.units import from_iso, to_iso
from gearshift_hub.control.db.events import EventRow
from gearshift_hub.control.db.jobs import JobRow
from gearshift_testing.controls import ON_SQLITE, Browser, Control, Person
from gearshift_testing.fakes import refuse, server_away
from sqlalchemy import select

IDLE = "/workspaces/alice/work/idle"


@pytest.fixture
async def control(control: Control) -> Control:
    """Half an hour idle, a warning five minutes before, and a drop to `cpu-small` where its owner wants that."""
    bounds = {
        "after_hours": 0.5,
        "min_hours": 0.25,
        "max_hours": 8.0,
        "warn_before": 300.0,
        "drop_to": "cpu-small",
    }
    idle = control.deployment.idle.model_copy(update=bounds)
    control.ctx.deployment = control.deployment.model_copy(update={"idle": idle})
    return control


async def pass_time(control: Control, minutes: float, every: float = 1) -> None:
    """Time passes while the rule looks each minute."""
    for _ in range(round(minutes / every)):
        await control.clock.advance(minutes=every)
        await control.rules()


async def put(person: Person, path: str, body: Any) -> Any:
    async with person.control.outside(person.headers) as client:
        answer = await client.put(f"/api/v1{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def shown(person: Person) -> dict[str, Any]:
    found: dict[str, Any] = (await person.get(IDLE)).json()
    return found


def events(control: Control, kind: str) -> list[dict[str, Any]]:
    with control.db.transaction() as session:
        rows = session.scalars(select(EventRow).where(EventRow.kind == kind).order_by(EventRow.id)).all()
    return [{**row.data, "_at": row.at} for row in rows]


async def test_an_idle_workspace_is_warned_of_then_stopped_with_reason_and_time(
    control: Control, alice: Person
) -> None:
    await alice.start()
    ready = control.clock.now()
    await pass_time(control, 29)
    (warning,) = events(control, "notice")
    assert (warning["text"], warning["action"], warning["cause"]) == ("idle_warning", "stop", "idle")
    assert warning["_at"] <= ready + timedelta(minutes=26)
    assert "Kernel state is saved first." in warning["en"]
    assert (await alice.workspace())["state"] == "ready"
    await pass_time(control, 2)
    await control.settled()
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("stopped", "idle")
    assert from_iso(workspace["since"]) - ready >= timedelta(minutes=30)
    stop = (await alice.get("/operations", workspace="alice/work")).json()[0]
    assert stop["id"] in control.servers.saved


async def test_busy_is_not_idle_and_after_a_restart_of_control_the_clock_goes_on(
    control: Control, alice: Person
) -> None:
    await alice.start()
    control.servers.doing["busy_kernels"] = 1
    await pass_time(control, 180, every=5)
    assert (await shown(alice))["busy"] == ["kernel"]
    assert events(control, "notice") == []
    control.servers.doing.clear()
    await pass_time(control, 20)
    after = await control.again()
    after.ctx.deployment = control.ctx.deployment
    await pass_time(after, 7)
    assert len(events(after, "notice")) == 1
    await pass_time(after, 5)
    await after.settled()
    assert (await after.person("alice").workspace())["reason"] == "idle"


@ON_SQLITE
async def test_a_server_that_does_not_answer_is_not_taken_for_idle(control: Control, alice: Person) -> None:
    await alice.start()
    control.servers.faults.at("activity", server_away, times=1000)
    await pass_time(control, 120, every=5)
    assert (await alice.workspace())["state"] == "ready"
    assert (await shown(alice))["busy"] == ["unknown"]


@ON_SQLITE
async def test_an_answer_that_makes_no_sense_is_none(control: Control, alice: Person) -> None:
    await alice.start()
    control.servers.doing["busy_kernels"] = "many"
    await pass_time(control, 40)
    assert (await alice.workspace())["state"] == "ready"


@ON_SQLITE
async def test_one_press_keeps_it_an_hour_longer_and_the_next_warning_comes_anew(
    control: Control, alice: Person
) -> None:
    await alice.start()
    ready = control.clock.now()
    await pass_time(control, 27)
    kept = (await alice.post(f"{IDLE}/keep", {"hours": 1})).json()
    assert not kept["warned"]
    assert from_iso(kept["keep_until"]) >= ready + timedelta(minutes=90)
    await pass_time(control, 50)
    assert len(events(control, "notice")) == 1
    await pass_time(control, 15)
    await control.settled()
    assert [one["text"] for one in events(control, "notice")] == ["idle_warning", "idle_warning", "idle_done"]
    assert (await alice.workspace())["reason"] == "idle"


@ON_SQLITE
async def test_keeping_has_the_operators_bound_however_often_it_is_pressed(
    control: Control, alice: Person
) -> None:
    await alice.start()
    for _ in range(30):
        kept = (await alice.post(f"{IDLE}/keep", {"hours": 1})).json()
    assert from_iso(kept["keep_until"]) == control.clock.now() + timedelta(hours=8)
    refused = await alice.post(f"{IDLE}/keep", {"hours": 9})
    assert refused.json()["error"]["code"] == "bad_request"


async def test_a_drop_goes_to_the_cheaper_machine_with_the_state_and_stops_there_later(
    control: Control, alice: Person
) -> None:
    await alice.start(machine="sim-1")
    control.hub.running[0].variables["x"] = 42
    chosen = await put(alice, IDLE, {"action": "drop", "after_hours": 0.5})
    assert (chosen["own"], chosen["next"], chosen["drop_to"]) == (True, "drop", "cpu-small")
    await pass_time(control, 31)
    await control.settled()
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["spec"]["machine"]) == ("ready", "cpu-small")
    assert control.hub.running[-1].variables == {"x": 42}
    found = await shown(alice)
    assert (found["before"], found["next"], found["drop_to"]) == ("sim-1", "stop", None)
    await pass_time(control, 32)
    await control.settled()
    assert (await alice.workspace())["state"] == "stopped"


@ON_SQLITE
async def test_a_drop_never_goes_to_what_costs_as_much(control: Control, alice: Person) -> None:
    await alice.start(machine="cpu-small")
    await put(alice, IDLE, {"action": "drop", "after_hours": 0.5})
    assert (await shown(alice))["next"] == "stop"
    refused = await _put_raw(alice, f"{IDLE}/end", {"action": "drop"})
    assert refused.json()["error"]["allowed"] == ["stop", "keep"]


@ON_SQLITE
async def test_a_drop_that_is_refused_is_told_and_tried_again_and_nothing_is_lost(
    control: Control, alice: Person
) -> None:
    await alice.start(machine="sim-1")
    await put(alice, IDLE, {"action": "drop", "after_hours": 0.5})
    control.servers.faults.at("plan", refuse("save_failed", cause="a test"))
    await pass_time(control, 32)
    assert events(control, "notice")[-1]["text"] == "idle_failed"
    assert (await alice.workspace())["spec"]["machine"] == "sim-1"
    await pass_time(control, 12)
    await control.settled()
    assert (await alice.workspace())["spec"]["machine"] == "cpu-small"


@ON_SQLITE
async def test_the_owners_choice_keeps_to_the_operators_bounds(control: Control, alice: Person) -> None:
    await alice.start()
    for body, field in (
        ({"action": "keep", "after_hours": 1}, "action"),
        ({"action": "stop", "after_hours": 0.1}, "after_hours"),
        ({"action": "stop", "after_hours": 9}, "after_hours"),
    ):
        error = (await _put_raw(alice, IDLE, body)).json()["error"]
        assert (error["code"], error["field"]) == ("bad_request", field)
        assert error["allowed"]
    assert (await put(alice, IDLE, {"action": "stop", "after_hours": 2}))["own"]
    async with control.outside(alice.headers) as client:
        back = (await client.delete(f"/api/v1{IDLE}")).json()
    assert (back["own"], back["after_hours"]) == (False, 0.5)


@ON_SQLITE
async def test_when_a_cell_ends_the_machine_is_dropped_with_no_page_open(
    control: Control, alice: Person
) -> None:
    await alice.start(machine="sim-1")
    control.servers.doing["busy_kernels"] = 1
    await put(alice, f"{IDLE}/end", {"action": "drop"})
    await pass_time(control, 300, every=5)
    assert (await alice.workspace())["spec"]["machine"] == "sim-1"
    control.servers.doing.update(busy_kernels=0, used_at=to_iso(control.clock.now()))
    await pass_time(control, 1)
    assert events(control, "notice")[-1]["cause"] == "end_of_work"
    await pass_time(control, 2)
    await control.settled()
    assert (await alice.workspace())["spec"]["machine"] == "cpu-small"
    assert (await shown(alice))["end"] is None


@ON_SQLITE
async def test_a_timer_is_moved_while_it_runs_and_never_ends_what_computes(
    control: Control, alice: Person
) -> None:
    await alice.start()
    ready = control.clock.now()
    await put(alice, f"{IDLE}/end", {"action": "stop", "at": to_iso(ready + timedelta(minutes=20))})
    longer = await put(alice, f"{IDLE}/end", {"action": "stop", "at": to_iso(ready + timedelta(minutes=10))})
    assert from_iso(longer["acts_at"]) == ready + timedelta(minutes=10)
    control.servers.doing.update(busy_kernels=1, cpu_share=0.9, cpus=2)
    await pass_time(control, 40, every=5)
    assert (await alice.workspace())["state"] == "ready"
    control.servers.doing.clear()
    await pass_time(control, 3, every=0.5)
    await control.settled()
    assert (await alice.workspace())["reason"] == "end_of_work"


@ON_SQLITE
async def test_a_timer_in_the_past_or_too_far_away_is_refused(control: Control, alice: Person) -> None:
    await alice.start()
    for moved in (timedelta(minutes=-1), timedelta(hours=9)):
        at = to_iso(control.clock.now() + moved)
        error = (await _put_raw(alice, f"{IDLE}/end", {"action": "stop", "at": at})).json()["error"]
        assert (error["code"], error["field"]) == ("bad_request", "at")


@ON_SQLITE
async def test_a_drop_at_the_end_is_called_off_by_a_switch_that_leaves_nothing_to_drop(
    control: Control, alice: Person
) -> None:
    await alice.start(machine="sim-1")
    await put(alice, f"{IDLE}/end", {"action": "drop"})
    await alice.switch("cpu-small")
    await pass_time(control, 5)
    assert (await shown(alice))["end"] is None
    assert events(control, "notice") == []
    assert (await alice.workspace())["state"] == "ready"


@ON_SQLITE
@pytest.mark.parametrize("said", ["1e999", "1e300", "-1", "0", "NaN", '"x"', "null"])
async def test_rubbish_for_hours_is_refused(control: Control, alice: Person, said: str) -> None:
    await alice.start()
    async with control.outside({**alice.headers, "Content-Type": "application/json"}) as client:
        answer = await client.post(f"/api/v1{IDLE}/keep", content=f'{{"hours": {said}}}')
    assert answer.status_code == 422, answer.text


@ON_SQLITE
@pytest.mark.parametrize("said", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z", "now", 5, {"a": 1}])
async def test_no_stamp_of_a_server_disturbs_the_others(control: Control, alice: Person, said: Any) -> None:
    await alice.start()
    control.servers.doing["executed_at"] = said
    await pass_time(control, 3)
    assert (await alice.workspace())["state"] == "ready"


@ON_SQLITE
async def test_a_start_forgets_what_was_asked_for_before_a_stop(control: Control, alice: Person) -> None:
    await alice.start()
    await put(
        alice, f"{IDLE}/end", {"action": "stop", "at": to_iso(control.clock.now() + timedelta(hours=1))}
    )
    await control.rules()
    await alice.stop()
    await control.clock.advance(minutes=1)
    await alice.start()
    await pass_time(control, 1)
    found = await shown(alice)
    assert (found["end"], found["keep_until"]) == (None, None)


@ON_SQLITE
async def test_a_job_that_runs_keeps_it_and_one_that_waits_does_not(control: Control, alice: Person) -> None:
    await alice.start()
    job = {"owner": "alice", "workspace": "alice/work", "spec": {}, "price_per_hour_nano": 0}
    with control.db.transaction() as session:
        session.add(JobRow(id="job-1", number=1, state="running", created_at=control.clock.now(), **job))
        session.add(JobRow(id="job-2", number=2, state="queued", created_at=control.clock.now(), **job))
    await pass_time(control, 60, every=5)
    assert (await shown(alice))["busy"] == ["job"]
    with control.db.transaction() as session:
        session.get_one(JobRow, "job-1").state = "succeeded"
    await pass_time(control, 27)
    assert len(events(control, "notice")) == 1


@ON_SQLITE
async def test_a_workspace_does_not_say_itself_that_jobs_run(control: Control, alice: Person) -> None:
    await alice.start()
    control.servers.doing["jobs"] = 99
    await pass_time(control, 26)
    assert len(events(control, "notice")) == 1


@ON_SQLITE
async def test_who_may_see_and_change_it(control: Control, alice: Person, bob: Person, root: Person) -> None:
    await alice.start()
    body = {"action": "stop", "after_hours": 2}
    calls = [
        ("GET", IDLE, None),
        ("PUT", IDLE, body),
        ("DELETE", IDLE, None),
        ("POST", f"{IDLE}/keep", {"hours": 1}),
        ("PUT", f"{IDLE}/end", {"action": "stop"}),
    ]
    inside = control.workspace_token("alice", "work")
    browser = control.browser("alice")
    for method, path, given in calls:
        assert [
            await _status(control, who, method, path, given)
            for who in (alice.headers, inside.headers, root.headers, bob.headers, {})
        ] == [200, 200, 200, 403, 401], (method, path)
        crossed, sent = await _by_cookie(browser, method, path, given)
        assert (crossed, sent) == (200 if method == "GET" else 403, 200), (method, path)


async def _by_cookie(browser: Browser, method: str, path: str, body: Any) -> tuple[int, int]:
    """Without and with the token of our page."""
    crossed = await browser.request(method, f"/api/v1{path}", json=body)
    sent = await browser.request(method, f"/api/v1{path}", xsrf=browser.xsrf, json=body)
    return crossed.status_code, sent.status_code


async def _status(control: Control, headers: dict[str, str], method: str, path: str, body: Any) -> int:
    async with control.outside(headers) as client:
        return (await client.request(method, f"/api/v1{path}", json=body)).status_code


async def _put_raw(person: Person, path: str, body: Any) -> Any:
    async with person.control.outside(person.headers) as client:
        return await client.put(f"/api/v1{path}", json=body)
