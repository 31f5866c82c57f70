"""The route of events: a stream that a page resumes from the last id it saw, with a beat every five seconds."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from fastapi import APIRouter, Depends, Header
from gearshift.model.errors import fail
from gearshift.model.units import to_iso
from starlette.responses import StreamingResponse

from gearshift_hub.control.auth import Watcher, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.events import Audience, Event
from gearshift_hub.control.services import workspaces

router = APIRouter(tags=["events"])

BEAT_S = 5.0
BEAT = ": beat\n\n"
LONGEST_ID = 18
"""Digits that every database takes for a number."""


@router.get("/events", response_class=StreamingResponse)
async def stream_events(
    workspace: str | None = None,
    last_event_id: str | None = Header(None),
    watcher: Watcher = Depends(may.watch),
    ctx: Context = Depends(context),
) -> StreamingResponse:
    """Server-sent events; without Last-Event-ID from now on."""
    audience = _audience(watcher, workspace)
    after = _last_id(last_event_id)
    if after is None:
        after = ctx.events.last_id()
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _stream(ctx, watcher, audience, after), media_type="text/event-stream", headers=headers
    )


async def _stream(ctx: Context, watcher: Watcher, audience: Audience, after: int) -> AsyncIterator[str]:
    """Ends when the ticket is over; the page comes back with a new one and the last id."""
    yield BEAT
    async for event in ctx.events.stream(after, audience, BEAT_S):
        if watcher.ticket is not None and ctx.clock.now() >= watcher.ticket.expires_at:
            return
        yield BEAT if event is None else _written(event)


def _written(event: Event) -> str:
    data = {**event.data, "at": to_iso(event.at)} if "at" not in event.data else event.data
    said = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"id: {event.id}\nevent: {event.kind}\ndata: {said}\n\n"


def _audience(watcher: Watcher, workspace: str | None) -> Audience:
    """A ticket's own workspace; else what the caller asked for, of their own."""
    if watcher.ticket is not None:
        if workspace not in (None, watcher.ticket.workspace):
            raise fail("forbidden", role="a ticket for this workspace", role_zh="持有此工作区票据的请求")
        return Audience(watcher.ticket.owner, watcher.ticket.workspace)
    actor = watcher.actor
    if workspace is None:
        return Audience(None if actor.admin else actor.name)
    owner, _ = workspaces.parse_id(workspace)
    actor.check_owner(owner)
    return Audience(owner, workspace)


def _last_id(text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > LONGEST_ID:
        raise fail("bad_request", field="Last-Event-ID", value=text, problem="not an id of ours")
    return int(text)
