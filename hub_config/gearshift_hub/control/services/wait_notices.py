"""What somebody on the waitlist is told: a machine is held for them, it was given on, what was agreed could not be done."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from gearshift.model.errors import GearshiftError
from gearshift.model.machine import Machine
from gearshift.model.record import Text
from gearshift.model.units import to_iso
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.waitlist import WaitRow
from gearshift_hub.control.services import notices

FREE = Text(en="{machine} is free and held for you until {time}.", zh="{machine} 有空闲，为您保留到 {time}。")
PASSED = Text(
    en="The {machine} held for you was given to the next in line at {time}.",
    zh="为您保留的 {machine} 已于 {time} 让给下一位。",
)
LAPSED = Text(
    en="The {machine} held for you was given back at {time}; nobody else waits for it.",
    zh="为您保留的 {machine} 已于 {time} 归还；没有其他人在等它。",
)
FAILED = Text(
    en="{name} did not begin by itself on {machine}: {cause} Nothing was charged.",
    zh="{name} 没有在 {machine} 上自动开始：{cause} 没有收费。",
)


def free(ctx: Context, session: Session, one: WaitRow) -> None:
    """A machine is held."""
    _say(ctx, session, one, "wait_free", FREE, one.held_until)


def over(ctx: Context, session: Session, one: WaitRow, *, passed: bool) -> None:
    """The time of the hold is over."""
    _say(ctx, session, one, "wait_passed", PASSED if passed else LAPSED, ctx.clock.now())


def failed(ctx: Context, session: Session, one: WaitRow, error: GearshiftError) -> None:
    """What was agreed to was refused."""
    cause = Text(en=error.message, zh=error.message_zh)
    _say(ctx, session, one, "wait_failed", FAILED, ctx.clock.now(), cause)


def _say(
    ctx: Context,
    session: Session,
    one: WaitRow,
    text: str,
    words: Text,
    at: datetime | None,
    cause: Text | None = None,
) -> None:
    machine = ctx.deployment.machine(one.spec["machine"])
    sentence = Text(
        en=words.en.format(
            machine=_title(machine, one).en, time=_time(ctx, at), name=one.workspace, cause=cause and cause.en
        ),
        zh=words.zh.format(
            machine=_title(machine, one).zh, time=_time(ctx, at), name=one.workspace, cause=cause and cause.zh
        ),
    )
    data = {
        "wait": one.id,
        "kind": one.kind,
        "machine": one.spec["machine"],
        "until": to_iso(at) if at else None,
    }
    notices.put(ctx, session, one.owner, one.workspace, text, data, sentence)


def _title(machine: Machine | None, one: WaitRow) -> Text:
    return machine.title if machine else Text(en=one.spec["machine"], zh=one.spec["machine"])


def _time(ctx: Context, at: datetime | None) -> str:
    zone = ZoneInfo(ctx.deployment.site.time_zone)
    return at.astimezone(zone).strftime("%H:%M %Z") if at else ""
