"""A browser through the hub's sign-in and back, tokens, scopes, and who may see what."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from gearshift_hub.control.auth import SESSION_COOKIE
from gearshift_hub.scopes import READ
from gearshift_testing.controls import ON_SQLITE, Control, Person

pytestmark = ON_SQLITE


async def test_a_browser_signs_in_by_the_hub_and_gets_a_session(control: Control, alice: Person) -> None:
    control.hub.codes["c1"] = control.hub.give_token("oauth-token", "alice", [READ])
    async with control.outside() as client:
        first = await client.get("/login?next=/services/gearshift/start")
        query = parse_qs(urlsplit(first.headers["location"]).query)
        assert query["client_id"] == ["service-gearshift"]
        assert query["redirect_uri"] == ["/services/gearshift/oauth_callback"]
        back = await client.get(f"/oauth_callback?code=c1&state={query['state'][0]}")
        assert back.headers["location"] == "/services/gearshift/start"
        cookie = next(line for line in back.headers.get_list("set-cookie") if SESSION_COOKIE in line)
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "oauth-token" not in cookie
        me = await client.get("/api/v1/me")
    assert (me.json()["name"], me.json()["kind"]) == ("alice", "browser")


async def test_a_sign_in_that_began_elsewhere_is_refused(control: Control, alice: Person) -> None:
    control.hub.codes["c1"] = control.hub.give_token("oauth-token", "alice", [READ])
    async with control.outside() as mine:
        first = await mine.get("/login")
        state = parse_qs(urlsplit(first.headers["location"]).query)["state"][0]
    async with control.outside() as other:
        answer = await other.get(f"/oauth_callback?code=c1&state={state}")
    assert answer.status_code == 403
    assert "c1" in control.hub.codes


async def test_a_hub_token_is_asked_about_once_in_five_seconds(control: Control, alice: Person) -> None:
    for _ in range(5):
        await alice.get("/me")
    assert control.hub.asked == 1
    await control.clock.advance(6)
    await alice.get("/me")
    assert control.hub.asked == 2


async def test_a_revoked_token_is_nobody_after_five_seconds(control: Control, alice: Person) -> None:
    await alice.get("/me")
    del control.hub.users[alice.token]
    await control.clock.advance(6)
    assert (await alice.get("/me")).status_code == 401


async def test_a_token_without_our_scopes_may_nothing(control: Control) -> None:
    await control.add_person("alice")
    token = control.hub.give_token("bare", "alice", ["read:users:name!user=alice"])
    answer = await Person(control, "alice", token).get("/me")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


async def test_a_scope_bound_to_its_user_counts(control: Control) -> None:
    await control.add_person("alice")
    token = control.hub.give_token("bound", "alice", [f"{READ}!user=alice"])
    assert (await Person(control, "alice", token).get("/me")).status_code == 200


async def test_a_workspaces_token_is_known_as_such(control: Control, alice: Person) -> None:
    await alice.start()
    inside = control.workspace_token("alice", "work")
    me = (await inside.get("/me")).json()
    assert (me["kind"], me["workspace"], me["can_spend"]) == ("server", "alice/work", False)


async def test_strangers_see_and_move_nothing_of_each_other(
    control: Control, alice: Person, bob: Person
) -> None:
    operation = await alice.start()
    for answer in (
        await bob.get("/workspaces/alice/work"),
        await bob.get(f"/operations/{operation['id']}"),
        await bob.get("/operations", workspace="alice/work"),
        await bob.get("/catalog", workspace="alice/work"),
        await bob.get("/ledger", account="alice"),
        await bob.get("/events", workspace="alice/work"),
        await bob.get("/workspaces", owner="alice"),
        await bob.post("/workspaces/alice/work/ticket"),
        await bob.post(f"/operations/{operation['id']}/cancel"),
        await bob.post("/plans", {"kind": "stop", "workspace": "alice/work"}),
        await bob.post("/plans", {"kind": "switch", "workspace": "alice/work", "machine": "sim-1"}),
        await bob.post("/plans", {"kind": "start", "workspace": "alice/work"}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden"), answer.url
    assert (await bob.get("/workspaces")).json() == []


async def test_an_admin_sees_all_and_may_stop_what_is_anothers(
    control: Control, alice: Person, root: Person
) -> None:
    await alice.start()
    assert [one["owner"] for one in (await root.get("/workspaces")).json()] == ["alice"]
    operation = await root.do("stop", workspace="alice/work")
    assert operation["state"] == "done"
    assert operation["owner"] == "alice"


async def test_an_admins_workspace_token_has_no_admin_power(control: Control, root: Person) -> None:
    await root.start()
    await control.add_person("alice")
    inside = control.workspace_token("root", "work")
    assert (await inside.get("/ledger", account="alice")).status_code == 403


async def test_a_disabled_person_is_refused_with_a_token_that_still_works(
    control: Control, alice: Person
) -> None:
    await alice.start()
    async with control.inside() as client:
        await client.post("/internal/accounts/alice/disable")
    answer = await alice.get("/me")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "disabled_user")
    assert control.hub.running == []


async def test_no_answer_and_no_log_holds_a_token(control: Control, alice: Person, caplog: object) -> None:
    answers = [
        await alice.get("/me"),
        await alice.post("/plans", {"kind": "nonsense", "token": alice.token[:5]}),
        await alice.get("/operations/op-x"),
    ]
    assert all(alice.token not in answer.text for answer in answers)
    assert alice.token not in caplog.text  # type: ignore[attr-defined]
