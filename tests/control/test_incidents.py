"""What a workspace's server tells of memory: heard by every page, kept in history, and believed in figures only."""

from __future__ import annotations

from typing import Any

import pytest
from gearshift_hub.control.db.idle import NoticeRow
from gearshift_hub.control.events import Audience
from gearshift_hub.control.services.incidents import MOST
from gearshift_hub.deployment.model import Notices
from gearshift_testing.controls import ON_SQLITE, Control, Person
from sqlalchemy import select

pytestmark = ON_SQLITE

PATH = "/workspaces/alice/work/incidents"


def incident(number: int = 0, **changes: Any) -> dict[str, Any]:
    facts = {"kernel": "a.ipynb", "peak": "2 GB", "limit": "2.1 GB", "peak_bytes": 2 * 10**9}
    return {"id": f"mem-{number:012x}", "code": "kernel_oom", "path": "a.ipynb", "facts": facts, **changes}


@pytest.fixture
async def server(control: Control, alice: Person) -> Person:
    """With the token that alice's workspace holds."""
    await alice.start()
    return control.workspace_token("alice", "work")


def told(control: Control) -> list[dict[str, Any]]:
    events = control.ctx.events.after(0, Audience("alice", "alice/work"))
    return [one.data for one in events if one.kind == "notice"]


async def test_pages_hear_of_it_from_control_and_history_keeps_it(
    control: Control, alice: Person, server: Person
) -> None:
    assert (await server.post(PATH, incident())).status_code == 204
    (event,) = told(control)
    assert (event["text"], event["code"], event["incident"]) == ("memory", "kernel_oom", "mem-000000000000")
    assert event["en"].startswith("alice/work: Kernel a.ipynb was ended: out of memory. Peak 2 GB of 2.1 GB.")
    assert "内存不足" in event["zh"]
    (notice,) = (await alice.get("/workspaces/alice/work/notices")).json()
    assert (notice["en"], notice["text"], notice["path"]) == (event["en"], "memory", "a.ipynb")


async def test_one_event_told_twice_is_one_and_too_many_are_refused(control: Control, server: Person) -> None:
    for _ in range(2):
        assert (await server.post(PATH, incident())).status_code == 204
    assert len(told(control)) == 1
    answers = [await server.post(PATH, incident(number)) for number in range(1, MOST + 2)]
    assert [answer.status_code for answer in answers[:-2]] == [204] * (MOST - 1)
    assert answers[-1].json()["error"]["code"] == "limit_reached"
    await control.clock.advance(minutes=61)
    assert (await server.post(PATH, incident(99))).status_code == 204


async def test_it_goes_out_by_mail_and_web_hook_where_there_are_such(
    control: Control, server: Person
) -> None:
    ways = Notices(smtp_host="mail.example.org", mail_from="g@example.org", mail_to="{user}@example.org")
    control.ctx.deployment = control.deployment.model_copy(update={"notices": ways})
    await server.post(PATH, incident())
    with control.db.transaction() as session:
        (row,) = session.scalars(select(NoticeRow)).all()
    assert (row.owner, row.body["text"]) == ("alice", "memory")


async def test_its_words_are_ours_whatever_a_server_sends(control: Control, server: Person) -> None:
    facts = {"kernel": "x\0" + "y" * 500, "limit": 5, "message": "<script>", "anything": "z" * 10_000}
    assert (await server.post(PATH, incident(facts=facts))).status_code in (204, 422)
    for event in told(control):
        assert "script" not in str(event)
        assert len(str(event)) < 2000
    wrong: list[dict[str, Any]] = [
        {"id": "x"}, {"code": "boom"}, {"path": 5}, {"facts": {"kernel": {}}}, {"more": 1},
    ]  # fmt: skip
    for changes in wrong:
        answer = await server.post(PATH, incident(1, **changes))
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_request"), changes


async def test_only_the_workspaces_own_server_tells(
    control: Control, alice: Person, bob: Person, root: Person, server: Person
) -> None:
    await alice.start("other")
    other = control.workspace_token("alice", "other")
    for who in (alice, bob, root, other):
        answer = await who.post(PATH, incident())
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    async with control.outside() as nobody:
        assert (await nobody.post(f"/api/v1{PATH}", json=incident())).status_code == 401
    assert (await bob.get("/workspaces/alice/work/notices")).status_code == 403
    assert told(control) == []
