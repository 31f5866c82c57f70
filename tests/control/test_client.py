"""The client: a method for each endpoint, refusals as our errors, events as they come."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from gearshift.client import Caps, Client
from gearshift.model.errors import GearshiftError, Missing
from gearshift_hub.control.app import plug
from gearshift_testing.controls import ON_SQLITE, Control, Person

PLAN = {"id": "plan-1"}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "confirm": (PLAN, Caps(1, 1)),
    "send_bundle": (b"x",),
    "resize_disk": ("d", 1),
    "choose_idle": ("a/w", "stop", 1.0),
    "share_disk": ("d", "bob", "ro"),
    "report_incident": ("a/w", {}),
}
COMPOSED = {"wait", "do"}
"""Made of other methods."""


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if not name.startswith("_") and name not in COMPOSED:
            yield name, method


def asked_for() -> set[tuple[str, str]]:
    """Each request that some method makes, with `x` in the places of a path."""
    seen: set[tuple[str, str]] = set()

    def refuse(request: httpx.Request) -> httpx.Response:
        seen.add((request.method, request.url.path.removeprefix("/services/gearshift/api/v1")))
        return httpx.Response(404, json={"error": {"code": "not_found", "message": "", "message_zh": ""}})

    with Client("http://control/", "token", httpx.MockTransport(refuse)) as client:
        for name, method in methods():
            required = [
                one
                for one in list(inspect.signature(method).parameters.values())[1:]
                if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
            ]
            given = ARGUMENTS.get(name, tuple("a/w" if one.name == "workspace" else "x" for one in required))
            with pytest.raises(Missing):
                list(getattr(client, name)(*given))
    return seen


@ON_SQLITE
async def test_there_is_a_method_for_each_endpoint_and_no_other(control: Control) -> None:
    plug(control.ctx)
    prefix = f"{control.ctx.prefix}/api/v1"
    routes = {
        (method, route.path.removeprefix(prefix))
        for route in iter_route_contexts(control.public.routes)
        if route.path and route.path.startswith(prefix)
        for method in route.methods or ()
    }
    seen = asked_for()

    def matches(route: tuple[str, str], asked: tuple[str, str]) -> bool:
        pattern = re.sub(r"\{[^}]+\}", "[^/]+", route[1])
        return route[0] == asked[0] and re.fullmatch(pattern, asked[1]) is not None

    assert [route for route in routes if not any(matches(route, asked) for asked in seen)] == []
    assert [asked for asked in seen if not any(matches(route, asked) for route in routes)] == []


class Bridge(httpx.BaseTransport):
    """From a client in a thread to an app in this loop."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._loop = asyncio.get_running_loop()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def send() -> httpx.Response:
            async with self._control.outside() as client:
                sent = client.build_request(
                    request.method, request.url, headers=request.headers, content=request.read()
                )
                answer = await client.send(sent)
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

        return asyncio.run_coroutine_threadsafe(send(), self._loop).result(20)


@ON_SQLITE
async def test_a_workspace_is_started_and_stopped_with_it(control: Control, alice: Person) -> None:
    bridge = Bridge(control)

    def drive() -> tuple[Any, ...]:
        with Client("http://control/", alice.token, bridge) as client:
            spec = {"image": "pytorch", "machine": "cpu-small"}
            started = client.do("start", Caps(10**9, 10**9), name="work", spec=spec)
            workspace = client.workspace("alice/work")
            stopped = client.do("stop", None, workspace="alice/work")
            operations = client.operations("alice/work")
            return started, workspace, stopped, operations, client.verify_ledger()

    started, workspace, stopped, operations, report = await asyncio.to_thread(drive)
    assert (started.state, workspace.state, stopped.state) == ("done", "ready", "done")
    assert [one.id for one in operations] == [stopped.id, started.id]
    assert report["ok"]


@ON_SQLITE
async def test_a_refusal_is_raised_as_the_error_it_is(control: Control, alice: Person) -> None:
    bridge = Bridge(control)

    def drive() -> GearshiftError:
        with (
            Client("http://control/", alice.token, bridge) as client,
            pytest.raises(GearshiftError) as refused,
        ):
            client.plan("start", name="work", spec={"image": "pytorch", "machine": "gpu-9"})
        return refused.value

    error = await asyncio.to_thread(drive)
    assert (error.code, error.field, error.value) == ("unknown_machine", "machine", "gpu-9")
    assert "cpu-small" in (error.allowed or [])


def test_no_answer_is_control_unavailable() -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with Client("http://control/", "token", httpx.MockTransport(away)) as client:
        for call in (client.me, lambda: list(client.events())):
            with pytest.raises(GearshiftError) as refused:
                call()
            assert refused.value.code == "control_unavailable"


def test_events_are_read_from_the_stream() -> None:
    said = ': beat\n\nid: 4\nevent: balance\ndata: {"balance_nano": 7}\n\n: beat\n\nid: 5\nevent: notice\ndata: {}\n\n'
    headers: list[str | None] = []

    def stream(request: httpx.Request) -> httpx.Response:
        headers.append(request.headers.get("Last-Event-ID"))
        return httpx.Response(200, text=said)

    with Client("http://control/", "token", httpx.MockTransport(stream)) as client:
        events = list(client.events("alice/work", last_id=3))
    assert [(event.id, event.kind, event.data) for event in events] == [
        (4, "balance", {"balance_nano": 7}),
        (5, "notice", {}),
    ]
    assert headers == ["3"]
