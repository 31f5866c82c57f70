"""Any interleaving of two operations on one workspace, step by step, with cancels and kills of control in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from gearshift.model.errors import GearshiftError
from gearshift.model.operation import OperationKind
from gearshift_hub.backends.base import Able
from gearshift_hub.control.operations import journal, start_plan
from gearshift_hub.control.services import accounts, ledger, workspaces
from gearshift_testing.controls import ON_SQLITE, Control
from gearshift_testing.fakes import idle
from gearshift_testing.fault_matrix import NEW, OLD, bill_and_machines
from gearshift_testing.gates import Point, gated
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytestmark = ON_SQLITE

KINDS = ("start", "switch", "stop")
TURNS = st.sampled_from(
    ["first", "second", "first", "second", "cancel first", "cancel second", "kill", "look"]
)


class Turnstile:
    """Lets one step through at a time, by turns given; once open, all."""

    def __init__(self) -> None:
        self._turns = 0
        self._open = False
        self._changed = asyncio.Event()

    def give(self) -> None:
        self._turns += 1
        self._changed.set()

    def open(self) -> None:
        self._open = True
        self._changed.set()

    async def pass_by(self, _point: Point) -> None:
        while not self._open and self._turns == 0:
            self._changed.clear()
            await self._changed.wait()
        self._turns = max(0, self._turns - 1)


class Stage:
    """One control after another, whose operations go on by turns."""

    def __init__(self, database_url: str) -> None:
        self.control = Control(database_url, able=Able(freeze=True))
        self.people = 0
        self.asked: list[asyncio.Task[object]] = []
        self.turnstiles: dict[str, Turnstile] = {}

    def hold(self) -> None:
        """From here on each kind of operation has a turnstile of its own."""
        self.turnstiles = {kind: Turnstile() for kind in KINDS}
        self._gate()

    def _gate(self) -> None:
        for kind, turnstile in self.turnstiles.items():
            flows = self.control.ctx.flows
            flows[OperationKind(kind)] = gated(flows[OperationKind(kind)], turnstile.pass_by)

    async def kill(self) -> None:
        await self.let_go()
        self.control = await self.control.again()
        self._gate()

    async def let_go(self) -> None:
        for task in self.asked:
            task.cancel()
        await asyncio.gather(*self.asked, return_exceptions=True)
        self.asked.clear()

    async def ready(self) -> str:
        self.people += 1
        owner = f"p{self.people}"
        await accounts.add(self.control.ctx, owner, admin=False)
        begun = await start_plan.start(self.control.ctx, owner, "work", OLD, actor=owner)
        await self.control.ctx.operations.wait(begun.id)
        return owner

    def begin(self, kind: str, owner: str) -> None:
        self.asked.append(asyncio.ensure_future(self._begin(kind, owner)))

    async def _begin(self, kind: str, owner: str) -> None:
        ctx, params = self.control.ctx, {"spec": NEW.model_dump(mode="json"), "freeze": True}
        with suppress(GearshiftError):
            if kind == "start":
                await start_plan.start(ctx, owner, "work", NEW, actor=owner)
            else:
                wanted: dict[str, Any] = params if kind == "switch" else {}
                await ctx.operations.submit(OperationKind(kind), owner, "work", actor=owner, params=wanted)

    async def cancel(self, kind: str, owner: str) -> None:
        with self.control.db.transaction() as session:
            found = [row.id for row in journal.active(session, f"{owner}/work") if row.kind == kind]
        for operation in found:
            with suppress(GearshiftError):
                await self.control.ctx.operations.cancel(operation, by=owner)


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[Stage]:
    made = Stage(database_url)
    yield made
    await made.control.close()


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=st.sampled_from(KINDS), second=st.sampled_from(KINDS), turns=st.lists(TURNS, max_size=16))
@example(first="switch", second="stop", turns=["first"] * 7 + ["second", "kill"])
@example(first="stop", second="start", turns=["first"] * 3 + ["second", "kill", "first", "cancel second"])
async def test_two_operations_end_as_if_one_had_come_after_the_other(
    stage: Stage, first: str, second: str, turns: list[str]
) -> None:
    owner = await stage.ready()
    stage.hold()
    kinds = {"first": first, "second": second}
    stage.begin(first, owner)
    await idle()
    stage.begin(second, owner)
    for turn in turns:
        await _take(stage, owner, kinds, turn)
        await idle()
    for turnstile in stage.turnstiles.values():
        turnstile.open()
    await _calm(stage)
    assert bill_and_machines(stage.control, owner) == ()
    await _leave(stage, owner)


async def _take(stage: Stage, owner: str, kinds: dict[str, str], turn: str) -> None:
    if turn in kinds:
        stage.turnstiles[kinds[turn]].give()
    elif turn == "kill":
        await stage.kill()
    elif turn == "look":
        await stage.control.look()
    else:
        await stage.cancel(kinds[turn.removeprefix("cancel ")], owner)


async def _calm(stage: Stage) -> None:
    for _ in range(3):
        await stage.control.settled()
        await stage.control.look()
    await stage.control.settled()
    await stage.let_go()


async def _leave(stage: Stage, owner: str) -> None:
    """Stopped, with the whole ledger in order, and without turnstiles for the next."""
    stage.begin("stop", owner)
    await _calm(stage)
    with stage.control.db.transaction() as session:
        report = ledger.verify(session)
        row = workspaces.find(session, owner, "work")
    assert report.ok, report.faults
    assert row is None or row.state == "stopped"
    stage.turnstiles = {}
    stage.control = await stage.control.again()
