"""Jobs in tests of control: gangs of real processes without a fork server, and gangs in memory that can fail."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gearshift.model.launch import Person, ProcessLimits
from gearshift.train.bundle import Bundle, Code
from gearshift_hub.backends.jobs import JobBackend, JobNotStartedError, Page, Placement, Seen
from gearshift_hub.backends.local.jobs import LocalJobs
from gearshift_hub.backends.local.processes import Usage
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.reconcile.jobs import JobLoop
from gearshift_hub.control.services import jobs as job_service
from gearshift_hub.control.services import launches, leases, ledger
from gearshift_hub.control.services.job_records import JobsPart, subject

from gearshift_testing.controls import Control
from gearshift_testing.controls import Person as Caller


def packed(source: str) -> bytes:
    """A bundle of one cell."""
    text = textwrap.dedent(source)
    return Bundle((Code("In[1]", 1, text),), cells={"In[1]": text}).pack()


class DirectTrees:
    """Trees started as plain children of the test; as root they run under the person's uid, as in the product."""

    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.resized: dict[str, ProcessLimits] = {}

    def start_command(
        self,
        *,
        tree: str,
        person: Person,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | str,
        limits: ProcessLimits,
        log: Path,
        devices: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        private_ports: Sequence[int] = (),
    ) -> object:
        drop: dict[str, Any] = {}
        if os.geteuid() == 0:
            drop = {"user": person.uid, "group": person.gid, "extra_groups": []}
        with log.open("wb") as output:
            self.processes[tree] = subprocess.Popen(
                list(argv),
                env=dict(env),
                cwd=cwd,
                stdout=output,
                stderr=output,
                start_new_session=True,
                **drop,
            )
        return self.processes[tree]

    def alive(self, tree: str) -> bool:
        return tree in self.processes and self.processes[tree].poll() is None

    def exit_code(self, tree: str) -> int | None:
        return self.processes[tree].poll() if tree in self.processes else None

    def usage(self, tree: str) -> Usage:
        return Usage(None, None, None, int(self.alive(tree)))

    def stop(self, tree: str, grace_s: float) -> None:
        if self.alive(tree):
            self.processes[tree].terminate()
            try:
                self.processes[tree].wait(grace_s)
            except subprocess.TimeoutExpired:
                self.kill(tree)

    def kill(self, tree: str) -> None:
        if self.alive(tree):
            self.processes[tree].kill()
            self.processes[tree].wait()

    def resize(self, tree: str, limits: ProcessLimits) -> None:
        self.resized[tree] = limits

    def relabel(self, tree: str, labels: Mapping[str, str]) -> None:
        pass

    def names(self) -> Sequence[str]:
        return [tree for tree in self.processes if self.alive(tree)]

    def close(self) -> None:
        for tree in self.processes:
            self.kill(tree)


@dataclass
class FakeGang:
    """A gang in memory: tests say how it goes on."""

    placement: Placement
    alive: bool = True
    exit_code: int | None = None
    status: dict[str, Any] | None = None
    beat: float = 0.0
    cpu_seconds: float = 0.0
    memory_bytes: int | None = None

    def runs(self) -> None:
        size = self.placement.spec.world_size
        ranks = [{"rank": r, "node": r // self.placement.spec.procs, "state": "running"} for r in range(size)]
        self.status = {"state": "running", "attempt": 0, "ranks": ranks}

    def ends(self, reason: str = "succeeded", **more: Any) -> None:
        ranks = [{**rank, "state": "ended", "exit_code": 0} for rank in (self.status or {}).get("ranks", [])]
        self.status = {**(self.status or {}), "state": reason, "reason": reason, "ranks": ranks, **more}
        self.alive, self.exit_code = False, 0


@dataclass
class FakeJobs(JobBackend):
    """The contract in memory. `refuse` fails the next start; `preparing` holds DeepSpeed jobs back."""

    gangs: dict[str, FakeGang] = field(default_factory=dict)
    bundles: dict[tuple[str, str], bytes] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    refuse: str | None = None
    preparing: str | None = None
    stubborn: bool = False
    strays: list[str] = field(default_factory=list)
    pages: dict[int, Page] = field(default_factory=dict)
    """Of every log, by the offset that is asked for."""

    def save_bundle(self, owner: str, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        self.bundles[owner, sha256] = data
        return sha256

    def bundle_bytes(self, owner: str, sha256: str) -> int | None:
        data = self.bundles.get((owner, sha256))
        return None if data is None else len(data)

    def make_room_for_bundle(
        self, owner: str, needed: Collection[str], sent_before: float, limit: int, coming: int
    ) -> None:
        pass

    def prepare(self, launch: str) -> str | None:
        return self.preparing if launch == "deepspeed" else None

    def start(self, placement: Placement) -> None:
        if self.refuse is not None:
            cause, self.refuse = self.refuse, None
            raise JobNotStartedError(cause)
        self.gangs[placement.job] = FakeGang(placement)

    def recover(self) -> None:
        pass

    def look(self, job: str, tree: str) -> Seen:
        gang = self.gangs.get(job)
        if gang is None:
            return Seen(alive=False)
        return Seen(gang.alive, gang.exit_code, gang.status, gang.beat, gang.cpu_seconds, gang.memory_bytes)

    def stop(self, job: str, tree: str, grace_seconds: float, notice: bool = False) -> None:
        self.stopped.append(job)
        if job in self.gangs and not self.stubborn:
            self.gangs[job].ends("interrupted" if notice else "cancelled")

    def kill(self, tree: str) -> None:
        self.strays = [stray for stray in self.strays if stray != tree]

    def trees(self) -> Sequence[str]:
        return [*self.strays, *(job for job, gang in self.gangs.items() if gang.alive)]

    def log(self, job: str, attempt: int, rank: int, offset: int, limit: int) -> Page | None:
        return self.pages.get(offset)

    def log_bytes(self, job: str, attempt: int, ranks: int) -> int:
        return 0

    def metrics(self, job: str, rank: int, offset: int, limit: int) -> Page | None:
        return None

    def open_result(self, job: str) -> tuple[int, int] | None:
        return None

    def remove(self, job: str) -> None:
        self.gangs.pop(job, None)

    def forget(self, owner: str) -> None:
        pass

    def close(self) -> None:
        pass


class Jobs:
    """Control's jobs, looked at when a test says so."""

    def __init__(self, control: Control, backend: JobBackend) -> None:
        self.control = control
        self.backend = backend
        control.ctx.backend.parts.put(JobsPart, JobsPart(backend))
        job_service.plug(control.ctx)
        self.loop = JobLoop(control.ctx)

    @classmethod
    def real(cls, control: Control, trees: DirectTrees, warm_seconds: float = 0.0) -> Jobs:
        """With real processes; none is kept ready unless it is asked for."""
        Path(control.folder.name).chmod(0o711)
        home, python = control.ctx.home, sys.executable
        return cls(control, LocalJobs(home, python, private=True, trees=trees, warm_seconds=warm_seconds))

    def home_of(self, who: Caller) -> Path:
        """The folder that jobs of this person start in."""
        with self.control.db.transaction() as session:
            person = launches.person(self.control.ctx, session, who.name)
        home = Path(person.home)
        home.parent.mkdir(mode=0o755, exist_ok=True)
        home.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(home, person.uid, person.gid)
        return home

    async def send(self, who: Caller, source: str) -> str:
        async with self.control.outside(who.headers) as client:
            answer = await client.post("/api/v1/jobs/bundles", content=packed(source))
        assert answer.status_code == 201, answer.text
        return str(answer.json()["sha256"])

    async def spec(self, who: Caller, source: str = "pass", **fields: Any) -> dict[str, Any]:
        spec = {"name": "train", "machine": "sim-1", "image": "pytorch", "grace_seconds": 1}
        return {**spec, "code": await self.send(who, source), **fields}

    async def submit(self, who: Caller, source: str = "pass", **fields: Any) -> str:
        """Plan and confirm; returns the id."""
        return str((await who.begin("job", spec=await self.spec(who, source, **fields)))["id"])

    async def turn(self) -> None:
        """One look of the loop, and whatever it began."""
        await self.loop.turn()
        await self.settle()

    async def settle(self) -> None:
        for tasks in (self.loop.starting, self.loop.stopping):
            for task in list(tasks.values()):
                await task

    async def until(self, who: Caller, job: str, *states: str, seconds: float = 120) -> dict[str, Any]:
        """Turn until the job is in one of these states."""
        deadline = time.monotonic() + seconds
        while True:
            found = await self.job(who, job)
            if found["state"] in states:
                return found
            assert time.monotonic() < deadline, found
            await self.turn()
            time.sleep(0.02)

    async def job(self, who: Caller, job: str) -> dict[str, Any]:
        answer = await who.get(f"/jobs/{job}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def held(self) -> int:
        """Devices that are leased now."""
        with self.control.db.transaction() as session:
            return sum(len(lease.device_ids) for lease in leases.all_leases(session))

    def intervals(self, job: str) -> list[Any]:
        with self.control.db.transaction() as session:
            return ledger.intervals_of(session, subject(job))

    def row(self, job: str) -> JobRow:
        with self.control.db.transaction() as session:
            found = session.get(JobRow, job)
        assert found is not None
        return found
