"""The event stream: what is told to whom, resuming from the last id, beats, tickets."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from gearshift_hub.control.events import Audience
from gearshift_testing.controls import Control, Person
from gearshift_testing.fakes import idle


class Stream:
    """What a page has received so far."""

    def __init__(self) -> None:
        self.status = 0
        self.task: asyncio.Future[None] | None = None
        self.text = ""
        self.done = asyncio.Event()
        self.body: dict[str, Any] = {}

    @property
    def events(self) -> list[tuple[int, str, dict[str, Any]]]:
        found = []
        for block in self.text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "id" in lines:
                found.append((int(lines["id"]), lines["event"], json.loads(lines["data"])))
        return found

    @property
    def kinds(self) -> list[str]:
        return [kind for _, kind, _ in self.events]

    async def until(self, holds: Callable[[Stream], bool]) -> Stream:
        deadline = time.monotonic() + 60
        while not holds(self):
            if self.task is not None and self.task.done():
                self.task.result()
            assert time.monotonic() < deadline, f"only this came: {self.text}"
            await asyncio.sleep(0.002)
        return self


@asynccontextmanager
async def listening(
    control: Control, authorization: str, workspace: str | None = None, last_id: int | None = None
) -> AsyncIterator[Stream]:
    """A stream read straight from the app, since httpx's ASGI transport waits for the end of an answer."""
    stream, gone = Stream(), asyncio.Event()
    headers = [(b"authorization", authorization.encode())]
    if last_id is not None:
        headers.append((b"last-event-id", str(last_id).encode()))
    query = f"workspace={workspace}" if workspace else ""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": f"{control.ctx.prefix}/api/v1/events",
        "query_string": query.encode(),
        "headers": headers,
        "asgi": {"version": "3.0"},
    }

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if asked:
            return asked.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            stream.status = message["status"]
        stream.text += message.get("body", b"").decode()
        if message["type"] == "http.response.body" and not message.get("more_body"):
            stream.done.set()

    task = stream.task = asyncio.ensure_future(control.public(scope, receive, send))  # type: ignore[arg-type]
    await stream.until(lambda one: one.status != 0 and one.text != "")
    try:
        yield stream
    finally:
        gone.set()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_start_is_told_step_by_step(control: Control, alice: Person) -> None:
    async with listening(control, f"token {alice.token}") as stream:
        await alice.start()
        await stream.until(lambda one: "operation.done" in one.kinds)
    steps = [data["step"] for _, kind, data in stream.events if kind == "operation.step"]
    assert steps == ["admit", "lease", "launch", "ready", "restore", "meter"]
    states = [data["state"] for _, kind, data in stream.events if kind == "workspace.state"]
    assert states == ["starting", "ready"]
    assert "inventory" in stream.kinds
    ids = [number for number, _, _ in stream.events]
    assert ids == sorted(set(ids))


async def test_a_stream_resumes_from_the_last_id_and_misses_nothing(control: Control, alice: Person) -> None:
    async with listening(control, f"token {alice.token}") as stream:
        await alice.start()
        await stream.until(lambda one: "operation.done" in one.kinds)
    whole = stream.events
    middle = whole[3][0]
    async with listening(control, f"token {alice.token}", last_id=middle) as again:
        await again.until(lambda one: len(one.events) >= len(whole) - 4)
    assert again.events == whole[4:]


async def test_a_restart_of_control_loses_no_event(control: Control, alice: Person) -> None:
    await alice.start()
    after = await control.again()
    async with listening(after, f"token {alice.token}", last_id=0) as stream:
        await stream.until(lambda one: "operation.done" in one.kinds)
    await after.engine.close()


async def test_there_is_a_beat_every_five_seconds(control: Control, alice: Person) -> None:
    async with listening(control, f"token {alice.token}") as stream:
        for count in range(2, 5):
            await idle()
            await control.clock.advance(5)
            await stream.until(lambda one, count=count: one.text.count(": beat") == count)


async def test_nobody_is_told_what_concerns_another(control: Control, alice: Person, bob: Person) -> None:
    async with (
        listening(control, f"token {bob.token}") as other,
        listening(control, f"token {alice.token}", "alice/quiet") as quiet,
    ):
        await alice.start("quiet")
        await alice.start("loud")
        await quiet.until(lambda one: "operation.done" in one.kinds)
    assert set(other.kinds) == {"inventory"}
    told = {data.get("workspace") for _, kind, data in quiet.events if kind.startswith("operation")}
    assert told == {"alice/quiet"}


async def test_a_ticket_reads_one_workspace_and_nothing_else(control: Control, alice: Person) -> None:
    await alice.start()
    inside = control.workspace_token("alice", "work")
    given = (await inside.post("/workspaces/alice/work/ticket")).json()
    assert given["url"] == "/services/gearshift/api/v1/events"
    ticket = f"Ticket {given['ticket']}"
    async with listening(control, ticket) as stream:
        await alice.stop()
        await stream.until(lambda one: "operation.done" in one.kinds)
    async with control.outside({"Authorization": ticket}) as client:
        assert (await client.get("/api/v1/me")).status_code == 401
        assert (await client.get("/api/v1/events?workspace=alice/other")).status_code == 403


async def test_a_ticket_is_over_after_ten_minutes_and_so_is_its_stream(
    control: Control, alice: Person
) -> None:
    await alice.start()
    given = (await alice.post("/workspaces/alice/work/ticket")).json()
    ticket = f"Ticket {given['ticket']}"
    async with listening(control, ticket) as stream:
        await idle()
        await control.clock.advance(601)
        await asyncio.wait_for(stream.done.wait(), 60)
    async with control.outside({"Authorization": ticket}) as client:
        assert (await client.get("/api/v1/events")).status_code == 401


async def test_a_forged_ticket_is_nobodys(control: Control, alice: Person) -> None:
    await alice.start()
    given = (await alice.post("/workspaces/alice/work/ticket")).json()["ticket"]
    said, _, signature = given.partition(".")
    for forged in (f"{said}.{signature[::-1]}", f"{said[:-2]}AA.{signature}", "x", "", "..", "a.b.c"):
        async with control.outside({"Authorization": f"Ticket {forged}"}) as client:
            assert (await client.get("/api/v1/events")).status_code == 401


async def test_old_events_are_forgotten(control: Control, alice: Person) -> None:
    await alice.start()
    await control.clock.advance(days=8)
    control.ctx.events.prune()
    assert control.ctx.events.after(0, Audience(None)) == []
