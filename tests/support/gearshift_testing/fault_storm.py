"""A storm of random faults over people who start, switch, stop, snapshot and run jobs; replayable by its seed.

A wave: everybody begins something, faults are laid where it passes, control is killed now and then, servers die, time
passes. Then nothing fails any more, and what must never be is counted: state lost, servers or charges doubled, machines
oversold, things without an owner, operations that do not end.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gearshift.model.errors import GearshiftError
from gearshift.model.job import JobState
from gearshift.model.operation import OperationKind, OperationState
from gearshift.model.workspace import WorkspaceSpec
from gearshift_hub.backends.base import Able
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.operations import journal, start_plan
from gearshift_hub.control.services import accounts, leases, ledger, workspaces
from sqlalchemy import select

from gearshift_testing.controls import Control
from gearshift_testing.fakes import FakeTree, Fault, hub_away, idle, refuse, server_away, until
from gearshift_testing.gangs import FakeJobs, Jobs

PEOPLE = 5
VERIFIED_EVERY = 20
MACHINES = ("cpu-small", "cpu-large", "sim-1", "gpu-1")
COUNTED = ("lost", "doubled", "oversold", "orphans", "stuck")
HUB_STAGES = ("start", "spawn", "started", "stop", "stopped", "hold", "release", "released", "state")
SERVER_STAGES = ("save", "restore", "health")
REFUSALS: dict[str, Fault] = {
    "spawn": refuse("start_failed", exit=1),
    "start": refuse("start_failed", exit=1),
    "stop": refuse("stop_failed", workspace="a test"),
    "save": refuse("save_failed", cause="a test"),
    "restore": refuse("restore_failed", machine="m", cause="a test"),
}


@dataclass
class Somebody:
    """A person, what their kernel holds, and whether the loss of it was told or came from a death of its own."""

    name: str
    holds: dict[str, object] = field(default_factory=dict)
    excused: bool = False


@dataclass
class Count:
    """What was found, with a line for each case."""

    faults: int = 0
    waves: int = 0
    found: Counter[str] = field(default_factory=Counter)
    cases: list[str] = field(default_factory=list)

    def add(self, kind: str, what: str) -> None:
        self.found[kind] += 1
        self.cases.append(f"wave {self.waves}: {kind}: {what}")


class Storm:
    """One world; `blow` until so many faults have struck."""

    def __init__(self, database_url: str, seed: int) -> None:
        self._dice = random.Random(seed)
        self._backend = FakeJobs()
        self._control = Control(database_url, able=Able(freeze=True, live_resize=True))
        self._jobs = Jobs(self._control, self._backend)
        self._people = [Somebody(f"p{number}") for number in range(PEOPLE)]
        self._asked: list[asyncio.Task[None]] = []
        self.count = Count()

    async def blow(self, faults: int) -> Count:
        """Until so many faults have struck in all."""
        for person in self._people if not self.count.waves else ():
            await accounts.add(self._control.ctx, person.name, admin=False)
        while self.count.faults < faults and not self.count.found["stuck"]:
            await self._wave()
            if self.count.waves % VERIFIED_EVERY == 0:
                self._verify()
        self._verify()
        return self.count

    async def close(self) -> None:
        await self._control.close()

    async def _wave(self) -> None:
        self.count.waves += 1
        for person in self._people:
            self._begin(person)
        if self._dice.random() < 0.4:
            self._asked.append(asyncio.ensure_future(self._quietly(self._job)))
        for _ in range(self._dice.randint(3, 7)):
            await self._trouble()
            self._oversold()
        await self._calm()
        if not self.count.found["stuck"]:
            self._check()

    # -- what people do ------------------------------------------------------------------------------

    def _begin(self, person: Somebody) -> None:
        acts = [self._start, self._switch, self._switch, self._stop, self._snapshot]
        act = self._dice.choice(acts)
        self._asked.append(asyncio.ensure_future(self._quietly(lambda: act(person))))

    async def _quietly(self, act: Callable[[], Awaitable[object]]) -> None:
        """A refusal is an answer; that control dies under it is what this is about."""
        with suppress(GearshiftError, AssertionError):
            await act()

    async def _start(self, person: Somebody) -> None:
        await start_plan.start(self._control.ctx, person.name, "work", self._spec(), actor=person.name)

    async def _switch(self, person: Somebody) -> None:
        params = {"spec": self._spec().model_dump(mode="json"), "freeze": self._dice.random() < 0.7}
        await self._submit(OperationKind.SWITCH, person, params)

    async def _stop(self, person: Somebody) -> None:
        await self._submit(OperationKind.STOP, person, {"reason": "asked"})

    async def _snapshot(self, person: Somebody) -> None:
        await self._control.person(person.name).post(f"/workspaces/{person.name}/work/states", {})

    async def _submit(self, kind: OperationKind, person: Somebody, params: dict[str, Any]) -> None:
        with self._control.db.transaction() as session:
            row = workspaces.find(session, person.name, "work")
            if row is None or (kind is OperationKind.SWITCH and row.state != "ready"):
                return
        await self._control.ctx.operations.submit(kind, person.name, "work", actor=person.name, params=params)

    async def _job(self) -> None:
        await self._jobs.submit(self._control.person(self._dice.choice(self._people).name))

    def _spec(self) -> WorkspaceSpec:
        return WorkspaceSpec(image="pytorch", machine=self._dice.choice(MACHINES))

    # -- what goes wrong -----------------------------------------------------------------------------

    async def _trouble(self) -> None:
        kinds = [self._lay, self._lay, self._lay, self._kill_control, self._die, self._cancel, self._gang]
        kind = self._dice.choice(kinds)
        await kind()
        await idle()
        await self._control.clock.advance(self._dice.choice([0.0, 0.1, 0.6, 3.0, 20.0, 70.0]))
        if self._dice.random() < 0.3:
            await self._look()

    async def _lay(self) -> None:
        stages = [("hub", stage) for stage in HUB_STAGES] + [("servers", stage) for stage in SERVER_STAGES]
        part, stage = self._dice.choice(stages)
        away = hub_away if part == "hub" else server_away
        fault = self._dice.choice([away, REFUSALS.get(stage, away), until(asyncio.Event())])

        async def strike() -> None:
            self.count.faults += 1
            await fault()

        getattr(self._control, part).faults.at(stage, strike, times=self._dice.choice([1, 1, 1, 3, 30]))

    async def _kill_control(self) -> None:
        self.count.faults += 1
        for task in self._asked:
            task.cancel()
        await asyncio.gather(*self._asked, return_exceptions=True)
        self._asked.clear()
        self._control = await self._control.again()
        self._jobs = Jobs(self._control, self._backend)

    async def _die(self) -> None:
        """A tree of somebody's is killed: the running one, or one that is frozen."""
        if not (trees := self._control.hub.running):
            return
        self.count.faults += 1
        tree = self._dice.choice(trees)
        tree.alive = False
        if not tree.frozen:  # what a process held since the last save goes with it, as at any other time
            self._person(tree).excused = True

    async def _cancel(self) -> None:
        with self._control.db.transaction() as session:
            unfinished = journal.unfinished(session)
        if unfinished:
            with suppress(GearshiftError):
                await self._control.ctx.operations.cancel(self._dice.choice(unfinished), by="storm")

    async def _gang(self) -> None:
        """A job goes on, ends, fails or cannot be started."""
        self._backend.refuse = self._dice.choice([None, "the storm"])
        for gang in self._backend.gangs.values():
            if gang.alive:
                self.count.faults += 1
                self._dice.choice([gang.runs, gang.ends, lambda gang=gang: gang.ends("failed")])()
        await self._jobs.turn()

    async def _look(self) -> None:
        """Beside all else, as the loop of the product does: a hub that never answers holds up nobody but the look."""

        async def look() -> None:
            with suppress(Exception):  # the hub may be away; the loop of the product only logs that
                await self._control.look()

        self._asked.append(asyncio.ensure_future(look()))
        await idle()

    # -- what must be then ---------------------------------------------------------------------------

    async def _calm(self) -> None:
        """Nothing fails any more, and time enough passes."""
        self._backend.refuse = None
        self._control.hub.faults.clear()
        self._control.servers.faults.clear()
        try:
            for _ in range(3):
                await self._control.settled()
                await self._control.look()
                await self._jobs.turn()
            await self._control.settled()
            for gang in self._backend.gangs.values():
                if gang.alive:
                    gang.ends()
            await self._jobs.turn()
        except AssertionError as error:
            self.count.add("stuck", str(error))
        for task in self._asked:
            task.cancel()
        await asyncio.gather(*self._asked, return_exceptions=True)
        self._asked.clear()

    def _oversold(self) -> None:
        with self._control.db.transaction() as session:
            devices = Counter(device for lease in leases.all_leases(session) for device in lease.device_ids)
        for device, times in devices.items():
            if times > 1:
                self.count.add("oversold", f"{device} is leased {times} times")

    def _check(self) -> None:
        for person in self._people:
            self._check_person(person)
        known = {person.name for person in self._people}
        for tree in self._control.hub.running:
            if tree.plan.workspace.owner not in known:
                self.count.add("orphans", tree.name)
        with self._control.db.transaction() as session:
            running = [row.id for row in session.scalars(select(JobRow)) if not JobState(row.state).is_final]
            of_jobs = [
                lease for lease in leases.all_leases(session) if lease.job and lease.job not in running
            ]
        for job in self._backend.trees():
            self.count.add("orphans", f"job {job} runs")
        for lease in of_jobs:
            self.count.add("orphans", f"lease of the ended job {lease.job}")

    def _verify(self) -> None:
        """The whole ledger, which grows, is recomputed now and then and at the end."""
        with self._control.db.transaction() as session:
            report = ledger.verify(session)
        if not report.ok:
            self.count.add("doubled", f"ledger: {report.faults}")

    def _check_person(self, person: Somebody) -> None:
        with self._control.db.transaction() as session:
            row = workspaces.find(session, person.name, "work")
            state = row.state if row is not None else "stopped"
            held = leases.of_workspace(session, f"{person.name}/work")
            intervals = ledger.intervals_of(session, ledger.subject_of(f"{person.name}/work"))
            newest = journal.listed(session, f"{person.name}/work", None, 8)
        trees = [tree for tree in self._control.hub.running if self._person(tree) is person]
        open_ones = [one for one in intervals if one.closed_at is None]
        there = {"servers": len(trees), "leases": len(held), "open intervals": len(open_ones)}
        wanted = 1 if state == "ready" else 0
        for what, number in there.items():
            if number != wanted:
                kind = "doubled" if number > 1 else "orphans" if number else "lost"
                self.count.add(kind, f"{person.name} is {state} and has {number} {what}")
        if any(
            before.closed_at is None or before.closed_at > after.opened_at
            for before, after in pairwise(intervals)
        ):
            self.count.add("doubled", f"{person.name}: intervals overlap")
        if any(op.state is OperationState.RUNNING for op in newest):
            self.count.add("stuck", f"{person.name}: {newest[0].kind}")
        self._check_state(person, trees[0] if trees else None, newest)

    def _check_state(self, person: Somebody, tree: FakeTree | None, newest: list[Any]) -> None:
        """What the kernel held is in the kernel, or was told to be kept, or went with the process that held it."""
        there = tree is not None and tree.variables == person.holds
        kept = person.holds in self._control.servers.saved.values()
        told = tree is None or any(_told_of_loss(op) for op in newest)
        if person.holds and not (there or person.excused or (told and (kept or _not_saved(newest)))):
            self.count.add(
                "lost", f"{person.name}: {person.holds} is not {tree.variables if tree else 'there'}"
            )
        person.holds, person.excused = {}, False
        if tree is not None:
            person.holds = {"v": self._dice.random()}
            tree.variables = dict(person.holds)

    def _person(self, tree: FakeTree) -> Somebody:
        return next(person for person in self._people if person.name == tree.plan.workspace.owner)


def _told_of_loss(op: Any) -> bool:
    """Its result says that something kept was not loaded, or that nothing could be saved."""
    result = op.result or {}
    back = (result.get("back") or {}).get("restored") or {}
    restored = result.get("restored") or {}
    return back.get("ok") is False or restored.get("ok") is False or _not_saved([op])


def _not_saved(newest: list[Any]) -> bool:
    notes = [step.note or {} for op in newest for step in op.steps if step.name in ("save", "restore")]
    return any(note.get("saved") is False or "error" in note for note in notes)
