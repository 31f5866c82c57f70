"""The waitlist: who comes first holds the machine, a hold that is over passes on, what was agreed to happens once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from gearshift.model.lease import Purpose
from gearshift.model.units import from_iso, to_iso
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.db.events import EventRow
from gearshift_hub.control.operations import waitlist
from gearshift_hub.control.reconcile import waitlist as at_work
from gearshift_hub.control.services import leases, wait_line
from gearshift_testing.controls import ON_SQLITE, Control, Person
from gearshift_testing.fakes import idle
from gearshift_testing.gangs import FakeJobs, Jobs
from sqlalchemy import select

PRICE = 4 * 10**9
SPEC = {"image": "pytorch", "machine": "sim-4"}
START: dict[str, Any] = {"what": "start", "machine": "sim-4", "spec": {"image": "pytorch"}}


@dataclass
class Line:
    """A control whose line is looked at when a test says so."""

    control: Control
    jobs: Jobs

    async def turn(self) -> None:
        await self.jobs.turn()
        await at_work.look(self.control.ctx)
        await idle()

    async def killed(self) -> Line:
        """After a kill -9 of control."""
        control = await self.control.again()
        waitlist.plug(control.ctx)
        return Line(control, Jobs(control, FakeJobs()))

    def held(self) -> list[str | None]:
        """For which workspaces something is held."""
        with self.control.db.transaction() as session:
            return [one.workspace for one in leases.all_leases(session) if one.purpose is Purpose.WAITLIST]


@pytest.fixture
def line(control: Control, jobs: Jobs) -> Line:
    waitlist.plug(control.ctx)
    return Line(control, jobs)


async def join(who: Person, name: str = "late", **more: Any) -> str:
    answer = await who.post("/waitlist", {**START, "name": name, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def agree(who: Person, name: str = "late", **more: Any) -> str:
    body = {**START, "name": name, "cap_nano": PRICE, **more}
    return str((await who.begin("wait", **body))["id"])


async def seen(who: Person, id: str) -> dict[str, Any]:
    answer = await who.get(f"/waitlist/{id}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def call(who: Person, method: str, path: str, body: Any = None) -> httpx.Response:
    async with who.control.outside(who.headers) as client:
        return await client.request(method, f"/api/v1{path}", json=body)


async def test_who_comes_first_holds_the_machine_and_one_press_starts_it(
    line: Line, alice: Person, bob: Person, root: Person
) -> None:
    await alice.start("work", "sim-4")
    refused = await bob.post("/plans", {"kind": "start", "name": "late", "spec": SPEC})
    assert refused.json()["error"]["facts"]["position"] == 1
    first, second = await join(bob), await join(root)
    await line.turn()
    assert [(await seen(who, id))["position"] for who, id in ((bob, first), (root, second))] == [1, 2]
    await alice.stop("work")
    await line.turn()
    held = await seen(bob, first)
    assert (held["state"], held["others_wait"]) == ("held", True)
    assert from_iso(held["held_until"]) - line.control.clock.now() <= timedelta(seconds=300)
    other = await alice.post("/plans", {"kind": "start", "name": "again", "spec": SPEC})
    assert other.json()["error"]["code"] == "sold_out", "what is held is nobody else's"
    op = await bob.start("late", "sim-4")
    assert op["state"] == "done"
    done = await seen(bob, first)
    assert (done["state"], done["operation"]) == ("done", op["id"])
    assert line.held() == []
    assert (await seen(root, second))["position"] == 1


@ON_SQLITE
async def test_a_hold_that_is_over_passes_to_the_next_and_both_are_told(
    line: Line, alice: Person, bob: Person, root: Person
) -> None:
    await alice.start("work", "sim-4")
    first, second = await join(bob), await join(root)
    await alice.stop("work")
    await line.turn()
    refused = await bob.post(f"/waitlist/{first}/keep")
    assert refused.json()["error"]["code"] == "others_wait"
    await line.control.clock.advance(301)
    await line.turn()
    await line.turn()
    assert (await seen(bob, first))["state"] == "passed"
    last = await seen(root, second)
    assert (last["state"], last["others_wait"]) == ("held", False)
    await line.control.clock.advance(200)
    kept = (await root.post(f"/waitlist/{second}/keep")).json()
    assert from_iso(kept["held_until"]) == line.control.clock.now() + timedelta(seconds=300)
    await line.control.clock.advance(301)
    await line.turn()
    assert (await seen(root, second))["state"] == "lapsed"
    assert line.held() == []
    told = notices(line.control)
    assert [one["text"] for one in told] == ["wait_free", "wait_passed", "wait_free", "wait_passed"]
    assert "is free and held for you until" in told[0]["en"]
    assert "让给下一位" in told[1]["zh"]


def notices(control: Control) -> list[dict[str, Any]]:
    with control.db.transaction() as session:
        rows = session.scalars(select(EventRow).where(EventRow.kind == "notice").order_by(EventRow.id))
        return [row.data for row in rows if str(row.data["text"]).startswith("wait_")]


async def test_what_was_agreed_starts_once_by_itself_and_a_kill_of_control_changes_nothing(
    line: Line, alice: Person, bob: Person
) -> None:
    await alice.start("work", "sim-4")
    id = await agree(bob)
    line = await line.killed()
    alice, bob = line.control.person("alice"), line.control.person("bob")
    assert (await seen(bob, id))["state"] == "waiting"
    await alice.stop("work")
    await line.jobs.turn()
    assert (await seen(bob, id))["state"] == "held"
    line = await line.killed()
    bob = line.control.person("bob")
    await line.turn()
    done = await seen(bob, id)
    assert (done["state"], done["mode"]) == ("done", "itself")
    assert (await line.control.ended(done["operation"])).state == "done"
    assert (await bob.workspace("late"))["state"] == "ready"
    await bob.stop("late")
    for _ in range(3):
        await line.turn()
        await line.control.clock.advance(60)
    assert (await bob.workspace("late"))["state"] == "stopped", "once"


@ON_SQLITE
async def test_a_control_killed_after_it_began_finds_what_it_began(
    line: Line, alice: Person, bob: Person
) -> None:
    await alice.start("work", "sim-4")
    id = await agree(bob)
    await alice.stop("work")
    await line.jobs.turn()
    with line.control.db.transaction() as session:
        row = wait_line.row(session, id)
        assert row is not None
        wait_line.move(
            line.control.ctx, session, row, at_work.WaitState.BEGUN, begun_at=line.control.clock.now()
        )
    op = await bob.start("late", "sim-4")
    line = await line.killed()
    await line.turn()
    bob = line.control.person("bob")
    assert (await seen(bob, id))["operation"] == op["id"]
    operations = (await bob.get("/operations", workspace="bob/late")).json()
    assert [one["kind"] for one in operations] == ["start"]


@ON_SQLITE
async def test_a_switch_by_itself_waits_until_no_cell_runs_and_nothing_would_be_lost(
    line: Line, alice: Person, bob: Person
) -> None:
    await alice.start("work", "sim-4")
    await bob.start("here", "cpu-small")
    id = str(
        (await bob.begin("wait", what="switch", workspace="bob/here", machine="sim-4", cap_nano=PRICE))["id"]
    )
    await alice.stop("work")
    lost = {"name": "socket", "type": "socket", "verdict": "cannot_move", "bytes": 0}
    line.control.servers.told = [lost]
    await line.turn()
    held = await seen(bob, id)
    assert (held["state"], held["why"], held["why_zh"]) == (
        "held",
        "socket would be lost.",
        "socket 将会丢失。",
    )
    line.control.servers.told = []
    await line.turn()
    done = await seen(bob, id)
    assert done["state"] == "done"
    assert (await line.control.ended(done["operation"])).state == "done"
    there = await bob.workspace("here")
    assert (there["spec"]["machine"], there["state"]) == ("sim-4", "ready")
    assert line.held() == []
    assert (await bob.get("/ledger/verify")).json()["ok"]


CAPS: list[tuple[dict[str, Any], str, str]] = [
    ({"cap_nano": PRICE - 1}, "cap_too_low", "cap_nano"),
    ({"cap_nano": "much"}, "cap_too_low", "cap_nano"),
    ({"cap_nano": None}, "cap_too_low", "cap_nano"),
    ({"machine": "gpu-9"}, "unknown_machine", "machine"),
    ({"machine": "gpu-none"}, "bad_request", "machine"),
    ({"until": "2020-01-01T00:00:00Z"}, "bad_request", "until"),
    ({"until": "2099-01-01T00:00:00Z"}, "bad_request", "until"),
    ({"what": "buy"}, "bad_request", "what"),
    ({"colour": "red"}, "bad_request", "colour"),
]


@ON_SQLITE
async def test_rubbish_is_refused_with_its_field(line: Line, bob: Person) -> None:
    for wrong, code, field in CAPS:
        body = {"kind": "wait", **START, "name": "late", "cap_nano": PRICE, **wrong}
        answer = await bob.post("/plans", body)
        error = answer.json()["error"]
        assert (error["code"], error["field"].split(".")[-1]) == (code, field), error
    assert (await bob.get("/waitlist")).json() == []


@ON_SQLITE
async def test_its_own_time_and_the_cap_on_the_price_bound_what_happens_by_itself(
    line: Line, alice: Person, bob: Person
) -> None:
    await alice.start("work", "sim-4")
    until = to_iso(line.control.clock.now() + timedelta(seconds=600))
    id = await agree(bob, until=until)
    await line.control.clock.advance(601)
    await alice.stop("work")
    await line.turn()
    assert (await seen(bob, id))["state"] == "over"
    dear = await agree(bob)
    with line.control.db.transaction() as session:
        row = wait_line.row(session, dear)
        assert row is not None
        row.cap_nano = PRICE - 1
    await line.turn()
    assert (await seen(bob, dear))["state"] == "waiting", "dearer now than what was agreed to"
    assert line.held() == []


@ON_SQLITE
async def test_a_person_may_take_it_back_at_any_time_and_what_is_held_is_free(
    line: Line, alice: Person, bob: Person
) -> None:
    await alice.start("work", "sim-4")
    id = await agree(bob)
    answer = await call(bob, "DELETE", f"/waitlist/{id}")
    assert answer.json()["state"] == "withdrawn"
    assert (await call(bob, "DELETE", f"/waitlist/{id}")).json()["state"] == "withdrawn"
    await alice.stop("work")
    await line.turn()
    assert line.held() == []
    held = await join(bob)
    await line.turn()
    assert line.held() == ["bob/late"]
    await call(bob, "DELETE", f"/waitlist/{held}")
    assert line.held() == []


@ON_SQLITE
async def test_a_workspace_waits_for_one_machine_and_a_person_has_so_many_places(
    line: Line, alice: Person, bob: Person
) -> None:
    await alice.start("work", "sim-4")
    before = await join(bob)
    after = await join(bob)
    assert [(await seen(bob, one))["state"] for one in (before, after)] == ["withdrawn", "waiting"]
    for number in range(4):
        await join(bob, f"more-{number}")
    answer = await bob.post("/waitlist", {**START, "name": "too-many"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "limit_reached")


@ON_SQLITE
async def test_a_start_that_went_another_way_ends_the_wait(line: Line, alice: Person, bob: Person) -> None:
    await alice.start("work", "sim-4")
    id = await agree(bob)
    await bob.start("late", "cpu-small")
    assert (await seen(bob, id))["state"] == "withdrawn"
    await alice.stop("work")
    await line.turn()
    assert (await bob.workspace("late"))["spec"]["machine"] == "cpu-small"


@ON_SQLITE
async def test_what_is_refused_when_it_would_begin_fails_with_its_cause_and_frees_the_machine(
    line: Line, alice: Person, bob: Person, root: Person
) -> None:
    await alice.start("work", "sim-4")
    id = await agree(bob)
    with line.control.db.transaction() as session:
        session.get_one(AccountRow, "bob").disabled = True
    await alice.stop("work")
    await line.turn()
    failed = await seen(root, id)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "disabled_user")
    assert line.held() == []


@ON_SQLITE
async def test_only_its_owner_and_an_admin_see_it_and_nothing_reaches_it_across_sites(
    line: Line, control: Control, alice: Person, bob: Person, root: Person
) -> None:
    await alice.start("work", "sim-4")
    id = await join(bob)
    paths: list[tuple[str, str]] = [
        ("GET", f"/waitlist/{id}"),
        ("POST", f"/waitlist/{id}/keep"),
        ("DELETE", f"/waitlist/{id}"),
    ]
    nobody = Person(control, "nobody", "no-token")
    for method, path in paths:
        answer = await call(alice, method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_wait")
        assert (await call(nobody, method, path)).status_code == 401
    every = [*paths, ("GET", "/waitlist"), ("POST", "/waitlist"), ("GET", "/waitlist/outlook?machine=sim-4")]
    browser = control.browser("bob")
    for method, path in every:
        assert (await call(nobody, method, path)).status_code == 401
        if method != "GET":
            crossed = await browser.request(method, f"/api/v1{path}", json={})
            assert (crossed.status_code, crossed.json()["error"]["code"]) == (403, "csrf")
    assert (await alice.get("/waitlist")).json() == []
    assert (await root.get(f"/waitlist/{id}")).status_code == 200
    await bob.start("here")
    for_bob = {"what": "switch", "workspace": "bob/here", "machine": "sim-4"}
    for who in (alice, root):
        answer = await who.post("/waitlist", for_bob)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert (await seen(bob, id))["state"] == "waiting"


@ON_SQLITE
async def test_a_workspaces_token_joins_to_be_asked_but_agrees_to_nothing(
    line: Line, control: Control, alice: Person, bob: Person
) -> None:
    await alice.start("work", "sim-4")
    await bob.start("here")
    inside = control.workspace_token("bob", "here")
    body = {"what": "switch", "workspace": "bob/here", "machine": "sim-4"}
    assert (await inside.post("/waitlist", body)).status_code == 201
    plan = await inside.plan("wait", what="switch", workspace="bob/here", machine="sim-4", cap_nano=PRICE)
    answer = await inside.post(f"/plans/{plan['id']}/confirm", {"press": True})
    assert answer.json()["error"]["code"] == "needs_confirmation"
