"""The fault matrix of the switch at control: gates at each step of its journal, what can die there, what must come out.

A cell is (fault, direction, step, moment). `Gates` wraps the steps of a flow, so that a fault happens exactly before a
step's work (`begun`) or after its effect and before the journal hears of it (`done`): where a crash hurts most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gearshift.model.operation import STEPS, OperationKind, OperationState
from gearshift.model.workspace import WorkspaceSpec
from gearshift_hub.backends.base import Able
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.hub import HubDownError
from gearshift_hub.control.operations import journal, start_plan
from gearshift_hub.control.services import accounts, leases, ledger, workspaces
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from gearshift_testing.controls import Control
from gearshift_testing.fakes import FakeTree, refuse, server_away
from gearshift_testing.gates import Point, gated

FORWARD = STEPS[OperationKind.SWITCH]
BACK = tuple(reversed(FORWARD[:-1]))
"""Past *verify* nothing goes back."""
POINTS: tuple[Point, ...] = (
    *(("forward", step, moment) for step in FORWARD for moment in ("begun", "done")),
    *(("back", step, moment) for step in BACK for moment in ("begun", "done")),
)
OLD = WorkspaceSpec(image="pytorch", machine="cpu-small")
NEW = WorkspaceSpec(image="pytorch", machine="sim-1")
STATE = {"x": 41}


class FullDatabase(Database):
    """A database whose disk has no room, or is read-only, while `full` is set."""

    full = False

    def _commit(self, session: Session) -> None:
        if self.full and (session.new or session.dirty or session.deleted):
            raise OperationalError("COMMIT", {}, OSError("database or disk is full"))
        super()._commit(session)


@dataclass
class Gates:
    """Faults that wait at points of a flow; each happens once."""

    waiting: dict[Point, Callable[[], Awaitable[None]]]
    reached: list[Point]

    async def pass_by(self, point: Point) -> None:
        self.reached.append(point)
        fault = self.waiting.pop(point, None)
        if fault is not None:
            await fault()


class World:
    """One control after another around the same hub; each cell is a person of their own."""

    def __init__(self, database_url: str, *, freeze: bool) -> None:
        self.gates = Gates({}, [])
        self.control = Control(database_url, able=Able(freeze=freeze), database=FullDatabase)
        self._install()
        self.freeze = freeze
        self.people = 0

    def _install(self) -> None:
        flows = self.control.ctx.flows
        flows[OperationKind.SWITCH] = gated(flows[OperationKind.SWITCH], self.gates.pass_by)

    async def ready(self) -> str:
        """A person with a workspace that holds something."""
        self.people += 1
        owner = f"p{self.people}"
        await accounts.add(self.control.ctx, owner, admin=False)
        begun = await start_plan.start(self.control.ctx, owner, "work", OLD, actor=owner)
        await self.control.ctx.operations.wait(begun.id)
        self.tree(owner).variables.update(STATE)
        return owner

    def tree(self, owner: str) -> FakeTree:
        """The newest of a person's trees, alive or not."""
        return [tree for tree in self.control.hub.trees if tree.plan.workspace.owner == owner][-1]

    def oldest(self, owner: str) -> FakeTree:
        return next(tree for tree in self.control.hub.trees if tree.plan.workspace.owner == owner)

    async def switch(self, owner: str) -> str:
        params = {"spec": NEW.model_dump(mode="json"), "freeze": self.freeze}
        begun = await self.control.ctx.operations.submit(
            OperationKind.SWITCH, owner, "work", actor=owner, params=params
        )
        return begun.id

    async def again(self) -> None:
        """The next control after a kill -9."""
        self.gates.waiting.clear()
        await self.control.engine.close()
        self.control.db.close()
        old = self.control
        self.control = Control(old.database_url, base_url=old.base_url, like=old, database=FullDatabase)
        self._install()
        self.control.engine.resume()

    async def calm(self) -> None:
        """Nothing fails any more; what is under way ends and what is left over is put in order."""
        await self.control.settled()
        self.control.hub.faults.clear()
        self.control.servers.faults.clear()
        self.control.servers.failing.clear()
        for _ in range(2):
            await self.control.look()
            await self.control.settled()

    async def leave(self, owner: str) -> None:
        """Stopped, by the ordinary stop: whatever was, it is legal, and makes room for the next cell."""
        stop = await self.control.ctx.operations.submit(OperationKind.STOP, owner, "work", actor=owner)
        ended = await self.control.ended(stop.id)
        assert ended.state is OperationState.DONE, ended.error

    async def close(self) -> None:
        await self.control.close()


async def cell(world: World, fault: str, point: Point) -> Outcome:
    """One cell: a switch, the fault at its point, recovery, and what came of it."""
    owner = await world.ready()
    happened = asyncio.Event()

    async def strike() -> None:
        happened.set()
        await FAULTS[fault](world, owner, point)

    world.gates.waiting = {point: strike}
    if point[0] == "back":
        world.control.servers.faults.at("health", refuse("step_failed", step="verify", cause="a test"))
    operation = await _submitted(world, owner)
    await _passed(world, happened, operation)
    if fault == "control":
        await world.again()
    if fault == "database":
        await world.control.clock.advance(30)
        _database(world).full = False
        await world.control.look()
    await world.calm()
    outcome = _outcome(world, owner)
    await world.leave(owner)
    return outcome


async def _submitted(world: World, owner: str) -> str:
    """The operation's id, also where its control dies in the very first step."""
    task = asyncio.ensure_future(world.switch(owner))
    while not task.done():
        await asyncio.sleep(0)
        with world.control.db.transaction() as session:
            found = journal.active(session, f"{owner}/work")
        if found:
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            return found[0].id
    return task.result()


async def _passed(world: World, happened: asyncio.Event, operation: str) -> None:
    """Until the fault has struck; time passes where something waits for it."""
    for _ in range(200):
        for _ in range(60):
            await asyncio.sleep(0)
            if happened.is_set():
                return
        with world.control.db.transaction() as session:
            if journal.load(session, operation).op.state.is_final:
                raise AssertionError(f"the point was never reached; reached: {world.gates.reached[-14:]}")
        await world.control.clock.advance(0.5)
    raise AssertionError("neither the fault nor the end came")


# -- faults ------------------------------------------------------------------------------------------


async def _kill_control(world: World, owner: str, point: Point) -> None:
    await asyncio.Event().wait()


async def _kill_hub(world: World, owner: str, point: Point) -> None:
    """Away for as long as it takes to be started again."""
    _hub_away(world, 3.0)


async def _lose_hub(world: World, owner: str, point: Point) -> None:
    """Away for minutes: past the deadline of every step but the longest."""
    _hub_away(world, 100.0)


def _hub_away(world: World, seconds: float) -> None:
    """No answer for so long; the answer to what was just asked is lost as well."""
    clock = world.control.clock
    back_at = clock.monotonic() + seconds

    async def away() -> None:
        if clock.monotonic() < back_at:
            raise HubDownError("connection refused")

    for stage in ("start", "stop", "hold", "release", "state", "servers"):
        world.control.hub.faults.at(stage, away, times=1000)
    raise HubDownError("the hub was killed")


async def _kill_proxy(world: World, owner: str, point: Point) -> None:
    """The next server cannot be given its route, and its start fails."""
    world.control.hub.faults.at("start", refuse("start_failed", exit=None))


async def _kill_old(world: World, owner: str, point: Point) -> None:
    """The tree of the old machine, also one that was started again there."""
    _kill_on(world, owner, OLD.machine)


async def _kill_new(world: World, owner: str, point: Point) -> None:
    _kill_on(world, owner, NEW.machine)


def _kill_on(world: World, owner: str, machine: str) -> None:
    """Gone, frozen or not; the hub has not looked yet."""
    for tree in world.control.hub.trees:
        if tree.plan.workspace.owner == owner and tree.plan.labels["machine"] == machine:
            tree.alive = False


async def _kill_kernel(world: World, owner: str, point: Point) -> None:
    """The kernel of the tree that runs; Jupyter starts an empty one in its place."""
    current = world.control.hub.server(owner, "work").current
    if current is not None:
        current.variables.clear()


async def _kill_loading(world: World, owner: str, point: Point) -> None:
    """The kernel that is given its state dies of it, twice; the report says so."""
    failed = {"kernel_id": "k1", "path": "a.ipynb", "status": "failed", "error": {"text": "it died"}}
    world.control.servers.failing.append({"ok": False, "kernels": [failed]})


async def _fill_disk(world: World, owner: str, point: Point) -> None:
    cause = "a.ipynb: the disk is full"
    world.control.servers.faults.at("save", refuse("save_failed", cause=cause))
    world.control.servers.faults.at("restore", refuse("restore_failed", machine="m", cause=cause))


async def _fill_database(world: World, owner: str, point: Point) -> None:
    _database(world).full = True


async def _silence_server(world: World, owner: str, point: Point) -> None:
    """Whatever is asked of a server next gets no answer."""
    for stage in ("save", "restore"):
        world.control.servers.faults.at(stage, server_away)


def _database(world: World) -> FullDatabase:
    assert isinstance(world.control.db, FullDatabase)
    return world.control.db


FAULTS: dict[str, Callable[[World, str, Point], Awaitable[None]]] = {
    "control": _kill_control,
    "hub": _kill_hub,
    "hub for minutes": _lose_hub,
    "proxy": _kill_proxy,
    "old server": _kill_old,
    "new server": _kill_new,
    "kernel": _kill_kernel,
    "kernel while loading": _kill_loading,
    "silence": _silence_server,
    "disk": _fill_disk,
    "database": _fill_database,
}


# -- outcomes ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What came of a cell. `same_tree`: the old server itself, with everything; `has_state`: what was saved is there."""

    where: Literal["new", "old", "gone"]
    same_tree: bool
    has_state: bool
    faults: tuple[str, ...]
    """What must never be."""


def _outcome(world: World, owner: str) -> Outcome:
    control = world.control
    with control.db.transaction() as session:
        row = workspaces.get(session, owner, "work")
    trees = _alive(control, owner)
    tree = trees[0] if trees else None
    where: Literal["new", "old", "gone"] = "gone"
    if row.state == "ready":
        where = "new" if row.spec["machine"] == NEW.machine else "old"
    return Outcome(
        where=where,
        same_tree=tree is not None and tree is world.oldest(owner),
        has_state=tree is not None and tree.variables == STATE,
        faults=bill_and_machines(control, owner, gaps=False),
    )


def bill_and_machines(control: Control, owner: str, *, gaps: bool = True) -> tuple[str, ...]:
    """What must never be, once everything has ended; a gap between two charges only where there was a stop."""
    with control.db.transaction() as session:
        row = workspaces.get(session, owner, "work")
        held = leases.of_workspace(session, row.id)
        intervals = ledger.intervals_of(session, ledger.subject_of(row.id))
        operations = journal.listed(session, row.id, None, 50)
    trees = _alive(control, owner)
    open_ones = [one for one in intervals if one.closed_at is None]
    wanted = 1 if row.state == "ready" else 0
    machine = row.spec["machine"]
    machines = {one.machine for one in (*held, *open_ones)} | {tree.plan.labels["machine"] for tree in trees}
    wrong = {
        "an operation that does not end": any(op.state is OperationState.RUNNING for op in operations),
        f"state {row.state}": row.state not in ("ready", "stopped", "failed"),
        f"{len(held)} leases, {len(trees)} servers, {len(open_ones)} open intervals where {row.state}": (
            (len(held), len(trees), len(open_ones)) != (wanted, wanted, wanted)
        ),
        "an overlap or a gap in the ledger": any(
            before.closed_at is None
            or before.closed_at > after.opened_at
            or (before.closed_at != after.opened_at and not gaps)
            for before, after in pairwise(intervals)
        ),
        "a frozen server": any(tree.frozen for tree in trees),
        "a hold that stays": wanted == 1 and control.hub.server(owner, "work").held_by is not None,
        "another machine than is paid for": not machines <= {machine},
    }
    return tuple(what for what, is_so in wrong.items() if is_so)


def _alive(control: Control, owner: str) -> list[FakeTree]:
    return [tree for tree in control.hub.running if tree.plan.workspace.owner == owner]
