"""C18: a workspace stopped as idle says so with its time, and after a slow restart it is left alone for a full idle time."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from gearshift.model.units import from_iso, to_iso
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.db.migrate import upgrade
from gearshift_hub.deployment import load
from gearshift_testing.controls import DEPLOYMENT, Control
from gearshift_testing.fakes import until

MINUTE = timedelta(minutes=1)
LIMITS = {"after_hours": 1 / 60, "min_hours": 1 / 60, "warn_before": 15.0}


@pytest.fixture
async def control(tmp_path: Path) -> AsyncIterator[Control]:
    """Idle limit 60 s, and time enough for a start that takes 90 s."""
    url = f"sqlite:///{tmp_path / 'control.sqlite'}"
    db = Database(url)
    upgrade(db.engine)
    db.close()
    declared = load(DEPLOYMENT)
    changed = {
        "idle": declared.idle.model_copy(update=LIMITS),
        "deadlines": declared.deadlines.model_copy(update={"start": 300.0}),
    }
    made = Control(url, deployment=declared.model_copy(update=changed))
    yield made
    await made.close()


async def test_c18_a_restart_is_given_a_full_idle_time_from_ready_on(control: Control) -> None:
    alice = await control.add_person("alice")
    await alice.start()
    control.servers.doing["executed_at"] = to_iso(control.clock.now())
    await look_for(control, 80)
    await control.settled()
    stopped = await alice.workspace()
    assert (stopped["state"], stopped["reason"]) == ("stopped", "idle")
    await control.clock.advance(minutes=10)
    page = (await control.browser("alice").request("GET", "/?stay=1")).text
    row = re.search(r"<tr>.*?>work<.*?</tr>", page, re.DOTALL)
    assert row is not None
    for said in ("Stopped", "idle", f'<time datetime="{stopped["since"]}">'):
        assert said in row.group(), said

    slow = asyncio.Event()
    control.hub.faults.at("spawn", until(slow))
    start = await alice.begin("start", name="work", spec={"image": "pytorch", "machine": "cpu-small"})
    await look_for(control, 90)
    assert (await alice.workspace())["state"] == "starting"
    slow.set()
    assert (await control.ended(start["id"])).state == "done"
    ready = from_iso((await alice.workspace())["since"])
    while control.clock.now() < ready + MINUTE - timedelta(seconds=2):
        await look_for(control, 1)
    assert (await alice.workspace())["state"] == "ready"
    stops = [
        op for op in (await alice.get("/operations", workspace="alice/work")).json() if op["kind"] == "stop"
    ]
    assert [op["created_at"] for op in stops if op["created_at"] > start["created_at"]] == []


async def look_for(control: Control, seconds: int) -> None:
    for _ in range(seconds):
        await control.clock.advance(1)
        await control.rules()
