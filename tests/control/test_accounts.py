"""People: added, activated, disabled, deleted; uids and names given once; passwords that are only hashes."""

from __future__ import annotations

from typing import Any

from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.services import ledger
from gearshift_testing.controls import ON_SQLITE, Control, Person
from sqlalchemy import select

PASSWORD = "correct horse"


async def call(control: Control, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    async with control.inside() as client:
        answer = await client.request(method, f"/internal/accounts{path}", json=body)
    return answer.status_code, answer.json()


async def added(control: Control, name: str, *, admin: bool = False) -> str:
    status, said = await call(control, "POST", "", {"name": name, "admin": admin})
    assert status == 201
    return str(said["code"])


@ON_SQLITE
async def test_a_code_is_typed_into_the_form_once_and_sets_the_password(control: Control) -> None:
    code = await added(control, "alice", admin=True)
    wrong = await call(control, "POST", "/activate", {"name": "alice", "code": "AAAA", "password": PASSWORD})
    assert (wrong[0], wrong[1]["error"]["code"]) == (401, "wrong_code")
    body = {"name": "alice", "code": code.lower().replace("-", " "), "password": PASSWORD}
    assert (await call(control, "POST", "/activate", body))[1] == {
        "ok": True,
        "name": "alice",
        "admin": True,
        "needs_activation": False,
    }
    assert (await call(control, "POST", "/activate", body))[0] == 401
    assert (await call(control, "POST", "/verify", {"name": "alice", "password": PASSWORD}))[1]["ok"]


@ON_SQLITE
async def test_a_short_password_is_refused_and_the_code_stays_good(control: Control) -> None:
    code = await added(control, "alice")
    body = {"name": "alice", "code": code, "password": "short"}
    status, said = await call(control, "POST", "/activate", body)
    assert (status, said["error"]["code"]) == (422, "bad_password")
    assert (await call(control, "POST", "/activate", {**body, "password": PASSWORD}))[0] == 200


@ON_SQLITE
async def test_a_first_sign_in_with_the_code_leads_to_the_form(control: Control) -> None:
    code = await added(control, "alice")
    _, said = await call(control, "POST", "/verify", {"name": "alice", "password": code})
    assert (said["ok"], said["needs_activation"]) == (False, True)


@ON_SQLITE
async def test_a_wrong_sign_in_does_not_say_what_was_wrong(control: Control) -> None:
    await _activated(control, "alice")
    for name, password in (("alice", "wrong"), ("nobody", PASSWORD), ("alice", "")):
        status, said = await call(control, "POST", "/verify", {"name": name, "password": password})
        assert (status, said["error"]["code"]) == (401, "wrong_sign_in")


@ON_SQLITE
async def test_nothing_that_opens_a_door_is_kept_in_the_clear(control: Control) -> None:
    code = await _activated(control, "alice")
    with control.db.transaction() as session:
        row = session.get_one(AccountRow, "alice")
        kept = f"{row.password_hash} {row.code_hash}"
    assert PASSWORD not in kept
    assert code not in kept
    assert kept.startswith("$argon2id$")


@ON_SQLITE
async def test_a_reset_takes_the_password_and_gives_a_new_code(control: Control) -> None:
    await _activated(control, "alice")
    _, said = await call(control, "POST", "/alice/reset")
    assert (await call(control, "POST", "/verify", {"name": "alice", "password": PASSWORD}))[0] == 401
    body = {"name": "alice", "code": said["code"], "password": "another horse"}
    assert (await call(control, "POST", "/activate", body))[0] == 200


async def test_disabled_means_stopped_and_out_until_enabled(control: Control) -> None:
    await _activated(control, "alice")
    alice = control.person("alice")
    await alice.start()
    await call(control, "POST", "/alice/disable")
    assert control.hub.running == []
    status, said = await call(control, "POST", "/verify", {"name": "alice", "password": PASSWORD})
    assert (status, said["error"]["code"]) == (403, "disabled_user")
    await call(control, "POST", "/alice/enable")
    assert (await call(control, "POST", "/verify", {"name": "alice", "password": PASSWORD}))[1]["ok"]
    workspace = await alice.workspace()
    assert (workspace["state"], workspace["reason"]) == ("stopped", "disabled")


async def test_deleting_stops_all_keeps_the_ledger_and_never_gives_name_or_uid_again(
    control: Control, alice: Person, bob: Person
) -> None:
    uids = await _uids(control)
    await bob.start()
    await control.clock.advance(minutes=5)
    assert (await call(control, "DELETE", "/bob"))[0] == 200
    assert control.hub.running == []
    assert control.box.binned == ["bob"]
    assert "bob" not in control.hub.known
    with control.db.transaction() as session:
        assert len(ledger.entries(session, "bob")) == 2
        assert ledger.verify(session).ok
    assert (await bob.get("/me")).status_code == 403
    status, said = await call(control, "POST", "", {"name": "bob"})
    assert (status, said["error"]["code"]) == (409, "user_exists")
    await added(control, "carol")
    assert (await _uids(control))["carol"] > max(uids.values())
    assert [one["name"] for one in (await call(control, "GET", ""))[1]] == ["alice", "carol"]


async def test_uids_come_from_the_reserved_range_and_end_with_it(control: Control) -> None:
    people = control.deployment.people.model_copy(update={"uid_from": 20_000, "uid_to": 20_001})
    control.ctx.deployment = control.deployment.model_copy(update={"people": people})
    await added(control, "one")
    await added(control, "two")
    assert set((await _uids(control)).values()) == {20_000, 20_001}
    status, said = await call(control, "POST", "", {"name": "three"})
    assert (status, said["error"]["code"]) == (403, "limit_reached")


@ON_SQLITE
async def test_names_that_cannot_be_are_refused(control: Control) -> None:
    for name in ("", " a", "a/b", "a\nb", "x" * 256):
        status, said = await call(control, "POST", "", {"name": name})
        assert (status, said["error"]["code"], said["error"]["field"]) == (422, "bad_request", "name")


async def test_c09_names_of_all_kinds_get_different_slugs(control: Control) -> None:
    names = [
        "_x@example.com",
        "-a",
        "A.C",
        "a.b",
        "a-b",
        "a_b",
        "a--b",
        "test1",
        "test11",
        "y" * 80 + "@e.example",
    ]
    for name in names:
        await added(control, name)
    slugs = {one["slug"] for one in (await call(control, "GET", ""))[1]}
    assert len(slugs) == len(names)
    assert all(len(slug) <= 63 for slug in slugs)


async def test_a_credit_is_booked_once_per_reference(control: Control, alice: Person) -> None:
    for _ in range(2):
        _, said = await call(control, "POST", "/alice/credit", {"amount": "12.50", "reference": "invoice 7"})
        assert said["balance_nano"] == 1012_500_000_000
    for amount in ("-1", "0", "x", "1.0000000001"):
        status, said = await call(control, "POST", "/alice/credit", {"amount": amount})
        assert (status, said["error"]["field"]) == (422, "amount")


async def _activated(control: Control, name: str) -> str:
    code = await added(control, name)
    await call(control, "POST", "/activate", {"name": name, "code": code, "password": PASSWORD})
    return code


async def _uids(control: Control) -> dict[str, int]:
    with control.db.transaction() as session:
        return {row.name: row.uid for row in session.scalars(select(AccountRow))}
