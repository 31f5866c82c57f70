"""Warm trees: when a job has ended, one supervisor that has torch imported waits for its person's next job of the same kind.

jobs/standby/<tree>/   root's, readable by the person: the order it learned from, and the two pipes of its doorbell
jobs/<job>/tree        root's: which tree runs the job, where that has another name than the job

A standby holds no lease and costs nothing. It is an optimisation: whatever is wrong with one, it is killed and the job
starts in a new tree, as the first one did.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from gearshift.model.launch import Person, ProcessLimits
from gearshift.train.gang import doorbell
from gearshift.train.gang.order import ORDER_FILE, Order
from gearshift.train.gang.standby import MEMINFO, available_share

from gearshift_hub.backends.base import MemoryInUseError
from gearshift_hub.backends.jobs import Placement

from .processes import StartRefused

log = logging.getLogger("gearshift.jobs.standby")

PREFIX = "warm-"
TAKE_SECONDS = 2.0
MOST = 4
"""Standbys of one deployment; the oldest makes room."""
WAITING = ProcessLimits(memory_bytes=2 * 1024**3, cpus=1, pids=64)
"""All that a standby may use until it is given a job."""
ROOM_SHARE = 0.2
"""Of the box's memory must be available for one to be started."""
TREE, OFFERED = "tree", "tree.offered"


class StandbyTrees(Protocol):
    """The part of `GangTrees` that is needed here."""

    def resize(self, tree: str, limits: ProcessLimits) -> None: ...

    def alive(self, tree: str) -> bool: ...

    def kill(self, tree: str) -> None: ...


@dataclass(frozen=True)
class Standby:
    """One that waits, or is on the way to."""

    tree: str
    kind: str
    owner: str
    port: int
    folder: Path


Start = Callable[[Standby, Person, Order, ProcessLimits], None]
"""Starts its tree."""


class Standbys:
    """Those of one deployment. Calls come from several threads."""

    def __init__(self, folder: Path, trees: StandbyTrees, start: Start) -> None:
        self._folder = folder
        self._trees = trees
        self._start = start
        self._lock = threading.Lock()
        self._waiting: list[Standby] = []
        self._asked: Counter[str] = Counter()
        """How often each owner's standbys were asked for: one that was begun before that is too late."""
        self._closed = False
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="standby")

    def find(self, kind: str | None, owner: str) -> Standby | None:
        """One that is ready for a job of this kind, from now on the caller's; the owner's others end."""
        with self._lock:
            self._asked[owner] += 1
            own = [one for one in self._waiting if one.owner == owner]
            self._waiting = [one for one in self._waiting if one.owner != owner]
        ready = [one for one in own if one.kind == kind and doorbell.is_waited_at(one.folder)]
        for one in own:
            if one not in ready[:1]:
                self._end(one)
        return ready[0] if ready else None

    def give(self, standby: Standby, root: Path, limits: ProcessLimits, cpu_seconds: float | None) -> bool:
        """Hand it the job that is laid out in `root`; false when the job must be started in another way."""
        try:
            self._trees.resize(standby.tree, limits)
            told = {"tree": standby.tree, "cpu_seconds": cpu_seconds}
            (root / OFFERED).write_text(json.dumps(told))
            if doorbell.ring(standby.folder, root, TAKE_SECONDS):
                (root / OFFERED).replace(root / TREE)
                return True
        except (OSError, MemoryInUseError) as error:
            log.info("the standby %s cannot be used: %s", standby.tree, error)
        self._end(standby)
        (root / OFFERED).unlink(missing_ok=True)
        return False

    def warm(self, placement: Placement, order: Order, kind: str) -> None:
        """Have one soon for the next job of this kind, unless the box has no memory to spare. Returns at once."""
        with self._lock:
            if not self._closed:
                self._worker.submit(self._warm, placement, order, kind)

    def forget(self, owner: str) -> None:
        """End those of one person."""
        self.find(None, owner)

    def close(self) -> None:
        """End them all; none is started any more."""
        with self._lock:
            self._closed, leaving, self._waiting = True, self._waiting, []
        self._worker.shutdown(wait=True, cancel_futures=True)
        for one in leaving:
            self._end(one)

    def tidy(self) -> None:
        """Remove the folders of those that are gone."""
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            if not self._trees.alive(folder.name):
                shutil.rmtree(folder, ignore_errors=True)

    def _warm(self, placement: Placement, order: Order, kind: str) -> None:
        owner = placement.person.name
        tree = f"{PREFIX}{kind}-{secrets.token_hex(4)}"
        one = Standby(tree, kind, owner, order.port, self._folder / tree)
        with self._lock:
            asked = self._asked[owner]
            own = [other for other in self._waiting if other.owner == owner]
            if any(other.kind == kind and self._trees.alive(other.tree) for other in own):
                return
            others = [other for other in self._waiting if other.owner != owner]
            self._waiting = others[-(MOST - 1) :]
        for other in [*own, *others[: -(MOST - 1)]]:
            self._end(other)
        try:
            self._begin(one, placement, order)
        except (OSError, StartRefused, MemoryInUseError) as error:
            log.info("no standby for %s: %s", owner, error)
            self._end(one)
            return
        with self._lock:
            late = self._closed or self._asked[owner] != asked
            if not late:
                self._waiting.append(one)
        if late:
            self._end(one)

    def _begin(self, one: Standby, placement: Placement, order: Order) -> None:
        if not has_room():
            raise OSError("the box has too little memory left")
        self.tidy()
        self._folder.mkdir(exist_ok=True)
        self._folder.chmod(0o711)
        one.folder.mkdir()
        one.folder.chmod(0o750)
        gid = placement.person.gid if os.geteuid() == 0 else None
        habit = replace(order, root=str(one.folder), job=one.tree, attempts_before=(), resume_from="")
        (one.folder / ORDER_FILE).write_text(habit.to_json())
        (one.folder / ORDER_FILE).chmod(0o640)
        doorbell.make(one.folder, gid)
        if gid is not None:
            for path in (one.folder, one.folder / ORDER_FILE):
                os.chown(path, 0, gid)
        self._start(one, placement.person, habit, placement.limits)
        self._trees.resize(one.tree, _waiting(placement.limits))

    def _end(self, one: Standby) -> None:
        self._trees.kill(one.tree)
        shutil.rmtree(one.folder, ignore_errors=True)


def kind_of(placement: Placement, order: Order) -> str | None:
    """The same text for jobs that one standby serves alike; None for those that none can.

    All that a process takes over once, at its start or while it imports, must be the same: whose it is, the Python, the
    folder, the environment, the sizes of its views. Devices are left out: a fork with one was never tried here.
    """
    if order.launch not in ("env", "accelerate") or any(place.cuda for place in order.nodes):
        return None
    same = [
        *(placement.person.uid, placement.person.gid, placement.person.home),
        *(order.python, order.cwd, sorted(order.env.items()), order.threads, order.group_timeout_seconds),
        *(order.private_network, placement.limits.model_dump()),
    ]
    return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()[:12]


def tree_of(root: Path) -> Mapping[str, Any]:
    """What is written down of the tree that runs the job in `root`; empty where it has the job's own name."""
    try:
        found: dict[str, Any] = json.loads((root / TREE).read_text())
    except (OSError, ValueError):
        return {}
    return found


def undo_offers(jobs: Path) -> None:
    """Jobs that an earlier control was just handing over when it ended: nothing of that counts."""
    for offered in jobs.glob(f"*/{OFFERED}"):
        with suppress(OSError):
            (offered.parent / "out/status.json").unlink(missing_ok=True)
            offered.unlink()


def has_room(meminfo: Path = MEMINFO) -> bool:
    """Whether the box has memory to spare; unknown is no."""
    share = available_share(meminfo)
    return share is not None and share >= ROOM_SHARE


def _waiting(limits: ProcessLimits) -> ProcessLimits:
    """Never more than the machine of the job to come."""
    memory = min(limits.memory_bytes, WAITING.memory_bytes)
    return WAITING.model_copy(update={"memory_bytes": memory})
