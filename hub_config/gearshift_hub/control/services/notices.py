"""Warnings and what came of them: one event for the pages, and one row for each other way that the deployment names.

Rows are sent by `deliver`, so that neither a slow mail host nor a restart loses one. A call of the web hook carries
`X-Gearshift-Time` and `X-Gearshift-Signature: sha256=HEX`, the HMAC-SHA256 of `TIME.BODY` under the shared secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import smtplib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from typing import Any
from zoneinfo import ZoneInfo

import httpx
from gearshift.model.errors import GearshiftError
from gearshift.model.idle import Cause, IdleAction, Verdict
from gearshift.model.record import Text
from gearshift.model.units import to_iso
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.idle import NoticeRow
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import workspaces
from gearshift_hub.control.services.idle import drop_target
from gearshift_hub.deployment import Deployment
from gearshift_hub.deployment.model import Notices

log = logging.getLogger("gearshift.notices")

WEBHOOK, MAIL = "webhook", "mail"
SEND_S = 10.0
TRIES = 6
FIRST_PAUSE_S = 5.0
"""Doubled after each try that failed."""
AT_ONCE = 50

WHY = {
    Cause.IDLE: Text(
        en="Nothing runs in {name} and nobody works in it", zh="{name} 中没有任务运行，也没有人使用"
    ),
    Cause.STUCK: Text(
        en="{name} has been busy for long without computing anything",
        zh="{name} 长时间处于忙碌状态，但没有进行计算",
    ),
    Cause.END: Text(en="The work in {name} has ended", zh="{name} 中的工作已结束"),
}
WARNED = {
    IdleAction.STOP: Text(
        en="{why}: it stops at {time}. Kernel state is saved first.",
        zh="{why}：将于 {time} 停止。会先保存内核状态。",
    ),
    IdleAction.DROP: Text(
        en="{why}: it drops to {machine} at {time} and keeps every variable that can move.",
        zh="{why}：将于 {time} 降到 {machine}，并保留可以迁移的全部变量。",
    ),
}
DONE = {
    IdleAction.STOP: Text(en="{why}: it is being stopped.", zh="{why}：正在停止。"),
    IdleAction.DROP: Text(en="{why}: it is being moved to {machine}.", zh="{why}：正在移到 {machine}。"),
}
FAILED = Text(
    en="{name} was not stopped or moved: {cause} It is tried again later.",
    zh="{name} 没有停止或移动：{cause} 稍后会重试。",
)
SUBJECT = {
    "idle_warning": Text(en="{name} is about to stop", zh="{name} 即将停止"),
    "idle_done": Text(en="{name} was stopped", zh="{name} 已停止"),
    "idle_failed": Text(en="{name} goes on", zh="{name} 继续运行"),
    "memory": Text(en="Memory in {name}", zh="{name} 的内存"),
    "wait_free": Text(en="A machine is held for {name}", zh="已为 {name} 保留机器"),
    "wait_passed": Text(en="The machine held for {name} was given on", zh="为 {name} 保留的机器已让出"),
    "wait_failed": Text(en="{name} did not begin by itself", zh="{name} 没有自动开始"),
}


def warn(ctx: Context, session: Session, row: WorkspaceRow, verdict: Verdict) -> None:
    """What will happen, and when."""
    _say(ctx, session, row, "idle_warning", verdict, WARNED[verdict.action])


def done(ctx: Context, session: Session, row: WorkspaceRow, verdict: Verdict) -> None:
    """What has been begun."""
    _say(ctx, session, row, "idle_done", verdict, DONE[verdict.action])


def failed(ctx: Context, session: Session, row: WorkspaceRow, error: GearshiftError) -> None:
    """What was refused."""
    sentence = Text(
        en=FAILED.en.format(name=row.id, cause=error.message),
        zh=FAILED.zh.format(name=row.id, cause=error.message_zh),
    )
    put(ctx, session, row.owner, row.id, "idle_failed", {"code": error.code}, sentence)


async def deliver(ctx: Context) -> None:
    """Send what is due; one that fails is tried again later, and at last given up."""
    with ctx.db.transaction() as session:
        query = (
            select(NoticeRow).where(NoticeRow.due_at <= ctx.clock.now()).order_by(NoticeRow.id).limit(AT_ONCE)
        )
        due = [_Due(row.id, row.channel, row.owner, row.body) for row in session.scalars(query)]
    for one in due:
        problem = await _send(ctx.deployment.notices, one, ctx.clock.now())
        with ctx.db.transaction() as session:
            _sent(session, one, problem, ctx.clock.now())


@dataclass(frozen=True)
class _Due:
    """One notice to be sent."""

    id: int
    channel: str
    owner: str
    body: dict[str, Any]


def _say(ctx: Context, session: Session, row: WorkspaceRow, text: str, verdict: Verdict, words: Text) -> None:
    assert verdict.cause is not None
    drops = verdict.action is IdleAction.DROP
    machine = drop_target(ctx, workspaces.spec_of(row)) if drops else None
    why = WHY[verdict.cause]
    facts = {"time": _local(ctx.deployment, verdict.acts_at)}
    sentence = Text(
        en=words.en.format(
            why=why.en.format(name=row.id), machine=machine.title.en if machine else "", **facts
        ),
        zh=words.zh.format(
            why=why.zh.format(name=row.id), machine=machine.title.zh if machine else "", **facts
        ),
    )
    data = {
        "cause": verdict.cause.value,
        "action": verdict.action.value,
        "machine": machine.id if machine else None,
        "acts_at": to_iso(verdict.acts_at) if verdict.acts_at else None,
    }
    put(ctx, session, row.owner, row.id, text, data, sentence)


def put(
    ctx: Context,
    session: Session,
    owner: str,
    workspace: str,
    text: str,
    data: Mapping[str, Any],
    sentence: Text,
) -> None:
    """One event for the pages, and one row for each other way that the deployment names."""
    now = ctx.clock.now()
    body = {"text": text, "workspace": workspace, "at": to_iso(now), **data, **sentence.model_dump()}
    ctx.events.add(session, "notice", body, owner=owner, workspace=workspace)
    ways = ctx.deployment.notices
    for channel, used in ((WEBHOOK, ways.webhook_url), (MAIL, ways.smtp_host)):
        if used:
            session.add(NoticeRow(channel=channel, owner=owner, body=body, due_at=now))


async def _send(ways: Notices, one: _Due, now: datetime) -> str | None:
    """What went wrong, if anything did."""
    try:
        if one.channel == WEBHOOK:
            await _call(ways, one, now)
        else:
            await asyncio.to_thread(_mail, ways, one)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, smtplib.SMTPException, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return None


async def _call(ways: Notices, one: _Due, now: datetime) -> None:
    assert ways.webhook_url is not None
    assert ways.webhook_secret_file is not None
    secret = ways.webhook_secret_file.read_bytes().strip()
    content, time = json.dumps({**one.body, "owner": one.owner, "id": one.id}).encode(), to_iso(now)
    signature = hmac.new(secret, time.encode() + b"." + content, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "X-Gearshift-Time": time,
        "X-Gearshift-Signature": f"sha256={signature}",
    }
    async with httpx.AsyncClient(timeout=SEND_S, trust_env=False, follow_redirects=False) as http:
        (await http.post(ways.webhook_url, content=content, headers=headers)).raise_for_status()


def _mail(ways: Notices, one: _Due) -> None:
    assert ways.smtp_host is not None
    message = EmailMessage()
    subject = SUBJECT[one.body["text"]]
    message["Subject"] = subject.en.format(name=one.body["workspace"])
    message["From"] = ways.mail_from
    message["To"] = (ways.mail_to or "").replace("{user}", one.owner)
    message.set_content(f"{one.body['en']}\n\n{one.body['zh']}\n")
    with smtplib.SMTP(ways.smtp_host, ways.smtp_port, timeout=SEND_S) as smtp:
        smtp.send_message(message)


def _sent(session: Session, one: _Due, problem: str | None, now: datetime) -> None:
    row = session.get(NoticeRow, one.id)
    if row is None:
        return
    row.tries += 1
    if problem is None or row.tries >= TRIES:
        session.delete(row)
    row.due_at = now + timedelta(seconds=FIRST_PAUSE_S * 2**row.tries)
    if problem is not None:
        log.warning("notice %d by %s, try %d: %s", one.id, one.channel, row.tries, problem)


def _local(deployment: Deployment, at: datetime | None) -> str:
    zone = ZoneInfo(deployment.site.time_zone)
    return at.astimezone(zone).strftime("%H:%M:%S %Z") if at else ""
