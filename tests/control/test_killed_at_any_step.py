"""Kill -9 of control after any of its commits: the next control finishes or undoes, and nothing is sold or billed twice."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from gearshift.model.errors import GearshiftError, Missing
from gearshift.model.ledger import Interval
from gearshift.model.operation import OperationKind
from gearshift.model.workspace import WorkspaceSpec
from gearshift_hub.backends.base import Able
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.operations import start_plan
from gearshift_hub.control.services import accounts, leases, ledger, workspaces
from gearshift_testing.controls import ON_SQLITE, Control
from gearshift_testing.fakes import refuse
from sqlalchemy import event
from sqlalchemy.orm import Session

LEAST, ENOUGH = 8, 80
"""Every operation commits more often than the one and less often than the other."""


class Killed(BaseException):
    """The process is gone: nothing catches it."""


class MortalDatabase(Database):
    """A database whose client is killed after so many commits that wrote something, and is never heard of again."""

    commits_left: int | None = None

    def __init__(self, url: str) -> None:
        super().__init__(url)
        event.listen(self._sessions, "after_flush", lambda session, _context: session.info.update(wrote=True))

    def _commit(self, session: Session) -> None:
        if self.commits_left == 0:
            raise Killed
        if self.commits_left is not None and session.info.get("wrote"):
            self.commits_left -= 1
        super()._commit(session)


Act = Callable[[Control, str], Awaitable[object]]
CPU = WorkspaceSpec(image="pytorch", machine="cpu-small")
LARGE = WorkspaceSpec(image="pytorch", machine="cpu-large")
SIM = WorkspaceSpec(image="pytorch", machine="sim-1")


async def start(control: Control, owner: str) -> None:
    begun = await start_plan.start(control.ctx, owner, "work", CPU, actor=owner)
    await control.ctx.operations.wait(begun.id)


async def stop(control: Control, owner: str) -> None:
    await _operate(control, OperationKind.STOP, owner, {})


async def switch(control: Control, owner: str) -> None:
    params = {"spec": SIM.model_dump(mode="json"), "freeze": control.box.able().freeze}
    await _operate(control, OperationKind.SWITCH, owner, params)


async def resize(control: Control, owner: str) -> None:
    await _operate(control, OperationKind.RESIZE, owner, {"spec": LARGE.model_dump(mode="json")})


async def failing_switch(control: Control, owner: str) -> None:
    control.hub.faults.at("spawn", refuse("start_failed", exit=3))
    await switch(control, owner)


async def _operate(control: Control, kind: OperationKind, owner: str, params: dict[str, Any]) -> None:
    begun = await control.ctx.operations.submit(kind, owner, "work", actor=owner, params=params)
    await control.ctx.operations.wait(begun.id)


@pytest.mark.parametrize(
    ("act", "may_end_as"),
    [(start, {"ready", "stopped"}), (stop, {"stopped", "ready"}), (switch, {"ready"})],
    ids=["start", "stop", "switch"],
)
async def test_killed_after_any_commit_it_comes_out_right(
    database_url: str, act: Act, may_end_as: set[str]
) -> None:
    await _killed_after_each_commit(database_url, act, may_end_as, freeze=True)


@ON_SQLITE
@pytest.mark.parametrize(
    ("act", "freeze"), [(switch, False), (failing_switch, True), (failing_switch, False), (resize, True)]
)
async def test_killed_on_the_way_back_it_comes_out_right_too(
    database_url: str, act: Act, freeze: bool
) -> None:
    await _killed_after_each_commit(database_url, act, {"ready"}, freeze=freeze)


async def _killed_after_each_commit(
    database_url: str, act: Act, may_end_as: set[str], *, freeze: bool
) -> None:
    control = Control(database_url, able=Able(freeze=freeze), database=MortalDatabase)
    for commits in range(ENOUGH):
        control.hub.faults.clear()
        owner = f"p{commits}"
        await accounts.add(control.ctx, owner, admin=False)
        if act is not start:
            await start(control, owner)
        finished = await _killed_after(control, commits, act(control, owner))
        control = await control.again(MortalDatabase)
        await control.settled()
        await control.look()
        await control.settled()
        _check(control, owner, may_end_as)
        if finished:
            break
        with suppress(Missing):
            await stop(control, owner)
    else:
        raise AssertionError("the operation never ended")
    assert commits >= LEAST
    _check_ledger(control)
    await control.close()


async def _killed_after(control: Control, commits: int, act: Awaitable[object]) -> bool:
    """Let the operation run until its control is killed; whether it came to its end before."""
    assert isinstance(control.db, MortalDatabase)
    control.db.commits_left = commits
    try:
        await _unless_killed(control, act)
    except (Killed, GearshiftError):
        return False
    finally:
        finished = control.db.commits_left != 0
        control.db.commits_left = 0
    return finished


async def _unless_killed(control: Control, work: Awaitable[object]) -> None:
    """Drivers die with Killed; whoever waits for them would wait for ever."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await asyncio.sleep(0)
        if isinstance(control.db, MortalDatabase) and control.db.commits_left == 0 and not _busy(control):
            task.cancel()
    await asyncio.wait({task})
    if task.cancelled():
        raise Killed
    task.result()


def _busy(control: Control) -> bool:
    return any(not driver.done() for driver in control.engine._drivers.values())


def _check(control: Control, owner: str, may_end_as: set[str]) -> None:
    """One lease, one server and one open interval where it is ready; none of each where it is not."""
    with control.db.transaction() as session:
        row = workspaces.find(session, owner, "work")
        state = row.state if row is not None else "stopped"
        held = leases.of_workspace(session, f"{owner}/work")
        intervals = ledger.intervals_of(session, ledger.subject_of(f"{owner}/work"))
        expected = row.spec["machine"] if row is not None else None
    assert state in may_end_as
    running = [tree for tree in control.hub.running if tree.plan.workspace.owner == owner]
    open_ones = [interval for interval in intervals if interval.closed_at is None]
    wanted = 1 if state == "ready" else 0
    assert (len(held), len(running), len(open_ones)) == (wanted, wanted, wanted)
    if state == "ready":
        assert held[0].machine == open_ones[0].machine == expected == running[0].plan.labels["machine"]
        assert not running[0].frozen
        assert control.hub.server(owner, "work").held_by is None
    _check_no_gap(intervals)


def _check_no_gap(intervals: list[Interval]) -> None:
    for before, after in pairwise(intervals):
        assert before.closed_at == after.opened_at


def _check_ledger(control: Control) -> None:
    with control.db.transaction() as session:
        report = ledger.verify(session)
        held: dict[str, int] = defaultdict(int)
        for lease in leases.all_leases(session):
            for device in lease.device_ids:
                held[device] += 1
    assert report.ok, report.faults
    assert all(count == 1 for count in held.values())
