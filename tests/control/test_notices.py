"""Warnings by web hook and by mail: signed, in both languages, tried again, and a host that is away holds up nothing."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest
from gearshift_hub.control.db.idle import NoticeRow
from gearshift_hub.control.services import notices
from gearshift_hub.deployment.model import Notices
from gearshift_testing.controls import Control, Person
from gearshift_testing.sinks import MailHost, WebHook, listening
from sqlalchemy import func, select

SECRET = b"a secret that both sides know"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "webhook-secret"
    file.write_bytes(SECRET + b"\n")
    return file


def configure(control: Control, ways: Notices) -> None:
    bounds = {"after_hours": 0.5, "min_hours": 0.25, "warn_before": 300.0}
    idle = control.deployment.idle.model_copy(update=bounds)
    control.ctx.deployment = control.deployment.model_copy(update={"idle": idle, "notices": ways})


async def warned(control: Control, person: Person) -> None:
    await person.start()
    await control.clock.advance(minutes=26)
    await control.rules()


def waiting(control: Control) -> int:
    with control.db.transaction() as session:
        return session.scalar(select(func.count()).select_from(NoticeRow)) or 0


async def test_a_web_hook_is_called_with_a_signature_that_holds(
    control: Control, alice: Person, secret: Path
) -> None:
    hook = WebHook()
    async with listening(hook):
        configure(control, Notices(webhook_url=hook.url, webhook_secret_file=secret))
        await warned(control, alice)
        await notices.deliver(control.ctx)
    ((headers, body),) = hook.calls
    told = json.loads(body)
    assert (told["text"], told["workspace"], told["owner"], told["action"]) == (
        "idle_warning", "alice/work", "alice", "stop",
    )  # fmt: skip
    assert told["acts_at"] > told["at"]
    signed = headers["x-gearshift-time"].encode() + b"." + body
    expected = hmac.new(SECRET, signed, hashlib.sha256).hexdigest()
    assert headers["x-gearshift-signature"] == f"sha256={expected}"
    assert waiting(control) == 0


async def test_mail_goes_to_the_owner_in_both_languages(control: Control, alice: Person) -> None:
    host = MailHost()
    async with listening(host):
        ways = {"mail_from": "gearshift@example.org", "mail_to": "{user}@example.org"}
        configure(control, Notices(smtp_host="127.0.0.1", smtp_port=host.port, **ways))
        await warned(control, alice)
        await notices.deliver(control.ctx)
    ((to, mail),) = host.mails
    assert to == "alice@example.org"
    assert mail["Subject"] == "alice/work is about to stop"
    payload = mail.get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert "Kernel state is saved first." in payload.decode()
    assert "会先保存内核状态。" in payload.decode()


async def test_what_was_refused_is_sent_again_also_by_the_next_control(
    control: Control, alice: Person, secret: Path
) -> None:
    hook = WebHook(refuse=1)
    async with listening(hook):
        configure(control, Notices(webhook_url=hook.url, webhook_secret_file=secret))
        await warned(control, alice)
        await notices.deliver(control.ctx)
        assert (hook.calls, waiting(control)) == ([], 1)
        after = await control.again()
        after.ctx.deployment = control.ctx.deployment
        await notices.deliver(after.ctx)
        assert hook.calls == []
        await after.clock.advance(minutes=1)
        await notices.deliver(after.ctx)
    assert (len(hook.calls), waiting(after)) == (1, 0)
    await after.close()


async def test_hosts_that_are_away_stop_nothing_and_are_given_up_at_last(
    control: Control, alice: Person, tmp_path: Path
) -> None:
    ways = Notices(
        webhook_url="http://127.0.0.1:1/",
        webhook_secret_file=tmp_path / "none",
        smtp_host="127.0.0.1",
        smtp_port=1,
        mail_from="not an address",
        mail_to="{user}\nBcc: all@example.org",
    )
    configure(control, ways)
    await warned(control, alice)
    assert waiting(control) == 2
    for _ in range(notices.TRIES):
        await control.clock.advance(hours=1)
        await notices.deliver(control.ctx)
    assert waiting(control) == 0


async def test_without_them_nothing_waits(control: Control, alice: Person) -> None:
    configure(control, Notices())
    await warned(control, alice)
    assert waiting(control) == 0
