"""What a workspace's server tells about memory and kernels that ended: told on, so that it outlives that server.

The server belongs to its person, and kernels hold its token: control believes nothing but figures and short names, puts
them into its own sentence, takes each event once, and takes no more than so many an hour.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

from gearshift.model.errors import fail
from gearshift.model.record import Input, Instant, Record, Text
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.events import EventRow
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import notices

Code = Literal["memory_near", "memory_interrupted", "kernel_oom", "kernel_signal", "kernel_exit"]
NOTICE, TEXT = "notice", "memory"
AN_HOUR, MOST = timedelta(hours=1), 20
SHOWN = 50
LONGEST = 200
FACTS = frozenset(
    {
        "kernel",
        "machine",
        "use",
        "peak",
        "limit",
        "largest",
        "cell",
        "signal",
        "signal_name",
        "exit_code",
        "use_bytes",
        "peak_bytes",
        "limit_bytes",
    }
)
"""What the sentences are filled with; all else that a server sends is left away."""


class Incident(Input):
    """One event as the server's memory guard knows it."""

    id: str = Field(pattern=r"^mem-[0-9a-f]{12}$")
    code: Code
    kernel_id: str | None = Field(None, max_length=LONGEST)
    path: str = Field("", max_length=4096)
    facts: dict[str, str | int | float | None] = Field(default_factory=dict, max_length=50)


class Notice(Record):
    """What was told of a workspace, in both languages."""

    at: Instant
    text: str
    code: str | None = None
    incident: str | None = None
    path: str = ""
    en: str
    zh: str


def tell(ctx: Context, session: Session, row: WorkspaceRow, incident: Incident) -> None:
    """An event for the pages, and a notice on each other way; an event that is known is no other one."""
    since = ctx.clock.now() - AN_HOUR
    told = [one for one in _notices(session, row.id) if one.data.get("text") == TEXT]
    if any(one.data.get("incident") == incident.id for one in told):
        return
    if len([one for one in told if one.at >= since]) >= MOST:
        raise fail("limit_reached", used=MOST, limit=MOST, what="events of memory", what_zh="内存事件")
    facts = {name: _short(value) for name, value in incident.facts.items() if name in FACTS}
    said = fail(incident.code, **facts)
    data = {
        "code": incident.code,
        "incident": incident.id,
        "kernel_id": incident.kernel_id,
        "path": incident.path,
        "facts": facts,
    }
    sentence = Text(en=f"{row.id}: {said.message}", zh=f"{row.id}：{said.message_zh}")
    notices.put(ctx, session, row.owner, row.id, TEXT, data, sentence)


def listed(session: Session, workspace: str) -> list[Notice]:
    """What was told in the days that events are kept, the newest first: memory, idle time, machines that were held."""
    return [
        Notice(
            at=one.at,
            text=one.data["text"],
            code=one.data.get("code"),
            incident=one.data.get("incident"),
            path=one.data.get("path") or "",
            en=one.data["en"],
            zh=one.data["zh"],
        )
        for one in _notices(session, workspace)[:SHOWN]
    ]


def _notices(session: Session, workspace: str) -> list[EventRow]:
    query = select(EventRow).where(EventRow.workspace == workspace, EventRow.kind == NOTICE)
    return list(session.scalars(query.order_by(EventRow.id.desc()).limit(SHOWN * 4)))


def _short(value: Any) -> Any:
    """A NUL is text that no database keeps."""
    return value.replace("\0", "")[:LONGEST] if isinstance(value, str) else value
