"""Control's way to the hub over HTTP: what each answer means, and that no answer means nothing is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from gearshift.model.errors import GearshiftError, fail
from gearshift_hub.control.hub import HubDownError, ServerState
from gearshift_hub.control.hub_http import HttpHub

Answer = Callable[[httpx.Request], httpx.Response]
READY = {
    "ready": True,
    "pending": None,
    "frozen": False,
    "operation": "op-1",
    "pid": 7,
    "port": 8001,
    "url": "/user/a/w/",
    "tree": "ws-1",
    "exit_code": None,
    "last_activity": "2026-11-30T20:52:16.000000Z",
}


def hub(answer: Answer) -> HttpHub:
    return HttpHub("http://hub/hub/api", "secret", httpx.MockTransport(answer))


async def test_a_start_says_where_the_server_answers() -> None:
    asked: list[tuple[str, str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url.raw_path.decode(), json.loads(request.content)))
        return httpx.Response(200, json=READY)

    state = await hub(answer).start("a b@c/d", "w", "op-1")
    assert asked == [
        ("POST", "/hub/api/gearshift/workspaces/a%20b%40c%2Fd/w/start", {"operation": "op-1", "thaw": False})
    ]
    assert (state.ready, state.port, state.tree) == (True, 8001, "ws-1")
    assert state.last_activity == datetime(2026, 11, 30, 20, 52, 16, tzinfo=UTC)


async def test_a_refusal_keeps_its_code_and_facts() -> None:
    refusal = fail("start_failed", machine="gpu-1", exit=3)
    with pytest.raises(GearshiftError) as refused:
        await hub(lambda _request: httpx.Response(502, json=refusal.body())).start("a", "w", "op-1")
    assert (refused.value.code, refused.value.facts["exit"]) == ("start_failed", 3)


def refused_connection(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    "answer",
    [refused_connection, lambda _r: httpx.Response(503), lambda _r: httpx.Response(502, text="<html>")],
)
async def test_no_answer_is_told_apart_from_a_refusal(answer: Answer) -> None:
    for call in (
        lambda one: one.start("a", "w", "op"),
        lambda one: one.stop("a", "w", "op"),
        lambda one: one.state("a", "w"),
        lambda one: one.servers(),
        lambda one: one.whoami("t"),
    ):
        with pytest.raises(HubDownError):
            await call(hub(answer))


async def test_a_fault_of_the_hub_is_a_step_that_failed() -> None:
    with pytest.raises(GearshiftError) as refused:
        await hub(lambda _request: httpx.Response(500)).stop("a", "w", "op")
    assert refused.value.code == "step_failed"


async def test_an_unknown_server_is_one_that_does_not_run() -> None:
    assert await hub(lambda _r: httpx.Response(404)).state("a", "w") == ServerState("a", "w")


async def test_a_stop_says_whether_the_old_tree_was_kept() -> None:
    assert await hub(lambda _r: httpx.Response(200, json={"state": "frozen"})).stop("a", "w", "o") == "frozen"
    assert (
        await hub(lambda _r: httpx.Response(200, json={"state": "stopped"})).stop("a", "w", "o") == "stopped"
    )


async def test_a_token_is_asked_about_with_itself_and_an_unknown_one_is_nobodys() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        if request.headers["Authorization"] != "token good":
            return httpx.Response(403)
        return httpx.Response(200, json={"kind": "user", "name": "a", "scopes": ["x"], "session_id": None})

    client = hub(answer)
    user = await client.whoami("good")
    assert user is not None
    assert (user.name, user.kind, user.scopes, user.signed_in) == ("a", "user", frozenset({"x"}), False)
    assert await client.whoami("bad") is None
    assert seen == ["token good", "token bad"]


async def test_a_code_is_exchanged_in_a_body_and_never_in_an_address() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert "code" not in str(request.url)
        form = dict(pair.split("=") for pair in request.content.decode().split("&"))
        assert form["client_id"] == "service-gearshift"
        good = form["code"] == "good"
        return httpx.Response(200, json={"access_token": "t"}) if good else httpx.Response(400)

    assert await hub(answer).token_for_code("good", "/cb") == "t"
    assert await hub(answer).token_for_code("bad", "/cb") is None


async def test_people_that_are_there_or_gone_already_are_no_fault() -> None:
    await hub(lambda _r: httpx.Response(409, json={"message": "exists"})).add_user("a", False)
    await hub(lambda _r: httpx.Response(404)).remove_user("a")
    await hub(lambda _r: httpx.Response(404)).remove("a", "w")
