"""Real gangs without a product: an order, a bundle of one cell, the supervisor as a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from gearshift.train.bundle import Bundle, Code
from gearshift.train.gang import doorbell, sweep
from gearshift.train.gang.order import ORDER_FILE, NodePlace, Order

STUBBORN = """
    import os, signal, subprocess, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        time.sleep(600)
    subprocess.Popen(["sleep", "600"])
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    print("up", flush=True)
    time.sleep(600)
"""
"""Ranks that hear no TERM, each with a child, a process of another program, and one that left its session: four a rank."""


@dataclass
class Gang:
    """One job in its folder."""

    order: Order
    process: subprocess.Popen[bytes] | None = None
    started: float = field(default_factory=time.monotonic)
    standby: Path | None = None
    """The folder in which a supervisor waits for it."""

    def start(self) -> Gang:
        argv = [sys.executable, "-P", "-m", "gearshift.train.gang", self.order.root]
        with (Path(self.order.root) / "gang.log").open("wb") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        return self

    def stand_by(self, seconds: float = 600.0) -> Gang:
        """Have a supervisor wait for this job, with torch imported; returns before it is ready."""
        self.standby = Path(self.order.root + "-standby")
        self.standby.mkdir()
        doorbell.make(self.standby)
        habit = replace(self.order, root=str(self.standby), job=self.standby.name)
        (self.standby / ORDER_FILE).write_text(habit.to_json())
        argv = [
            sys.executable,
            "-P",
            "-m",
            "gearshift.train.gang",
            "--standby",
            str(seconds),
            str(self.standby),
        ]
        with (Path(self.order.root) / "gang.log").open("wb") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        return self

    def warm(self) -> Gang:
        """Have one that is ready."""
        self.stand_by().until(lambda gang: doorbell.is_waited_at(gang.standby))
        return self

    def adopt(self, seconds: float = 10.0) -> bool:
        """Hand the job to the supervisor that waits for it."""
        assert self.standby is not None
        self.started = time.monotonic()
        return doorbell.ring(self.standby, Path(self.order.root), seconds)

    def run_warm(self) -> Gang:
        assert self.warm().adopt(), self.said
        self.wait()
        return self

    def seen(self, name: str = "") -> set[tuple[int, str]]:
        """All that runs below the supervisor, or what of it has this name: pid and time of its start."""
        assert self.process is not None
        found = set()
        for pid in sweep.descendants(self.process.pid):
            with suppress(OSError):
                folder = Path("/proc") / str(pid)
                if not name or (folder / "comm").read_text().strip() == name:
                    found.add((pid, _born(pid)))
        return found

    def template(self) -> int:
        """The process that ranks are forked from."""
        return self._below(lambda entry: b"gearshift.train.template" in (entry / "cmdline").read_bytes())

    def wait(self, seconds: float = 60) -> int:
        assert self.process is not None
        return self.process.wait(seconds)

    def run(self) -> Gang:
        self.start().wait()
        return self

    def until(self, ready: Callable[[Gang], Any], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not ready(self):
            assert time.monotonic() < deadline, (self.status, self.said)
            assert self.process is not None
            assert self.process.poll() is None, (self.status, self.said)
            time.sleep(0.02)

    def nothing_left(self, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while left := self.left():
            assert time.monotonic() < deadline, left
            time.sleep(0.02)

    @property
    def status(self) -> dict[str, Any]:
        path = self.order.out / "status.json"
        return json.loads(path.read_text()) if path.exists() else {}

    @property
    def said(self) -> str:
        return (Path(self.order.root) / "gang.log").read_text()

    def log(self, rank: int, attempt: int = 0) -> str:
        path = self.order.attempt_dir(attempt) / f"rank-{rank}.log"
        return path.read_text() if path.exists() else ""

    @property
    def metrics(self) -> list[dict[str, Any]]:
        files = sorted((self.order.out / "metrics").iterdir())
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    @property
    def metrics_so_far(self) -> list[dict[str, Any]]:
        """While it runs, or has not begun to."""
        return self.metrics if (self.order.out / "metrics").is_dir() else []

    def left(self) -> list[str]:
        """Processes of this job that still exist, found by a mark in their environment."""
        mark = f"GS_JOB={self.order.job}\0".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if mark in (entry / "environ").read_bytes() + b"\0":
                        found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
                except OSError:
                    continue
        return found

    def keeper(self, node: int) -> int:
        """The process that stands for a node."""
        return self._below(lambda entry: (entry / "comm").read_text().strip() == f"gs-node-{node}")

    def pid_of(self, rank: int, attempt: int = 0) -> int:
        marks = (f"GS_JOB={self.order.job}", f"RANK={rank}", f"GS_ATTEMPT={attempt}")
        return self._below(
            lambda entry: set(marks) <= set((entry / "environ").read_text(errors="replace").split("\0"))
        )

    def pid_of_any(self, rank: int) -> int | None:
        """None where it is not there (yet)."""
        with suppress(AssertionError):
            return self.pid_of(rank)
        return None

    def _below(self, wanted: Callable[[Path], bool]) -> int:
        """The one process below the supervisor that is meant."""
        assert self.process is not None
        for pid in sweep.descendants(self.process.pid):
            with suppress(OSError):
                if wanted(Path("/proc") / str(pid)):
                    return pid
        raise AssertionError("no such process")


def gone(seen: set[tuple[int, str]], seconds: float = 10.0) -> bool:
    """Whether all of these have ended; waits a little for those that are just being killed."""
    deadline = time.monotonic() + seconds
    while any(_born(pid) == born for pid, born in seen):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    return True


def _born(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def loopback(node: int) -> NodePlace:
    return NodePlace(f"127.0.0.{node + 1}")


@pytest.fixture
def gang() -> Iterator[Callable[..., Gang]]:
    with gangs() as make:
        yield make


@contextmanager
def gangs() -> Iterator[Callable[..., Gang]]:
    """`gang(code, nodes=2, procs=1, …)`: a job that is ready to be started."""
    folder = Path(tempfile.mkdtemp(prefix="gearshift-test-gang-", dir="/var/tmp"))
    made: list[Gang] = []

    def make(code: str, nodes: int | tuple[NodePlace, ...] = 1, procs: int = 1, **fields: Any) -> Gang:
        root = folder / f"job-{len(made)}"
        root.mkdir()
        source = textwrap.dedent(code)
        bundle = Bundle((Code("In[1]", 1, source),), cells={"In[1]": source})
        (root / "bundle.zip").write_bytes(bundle.pack())
        defaults: dict[str, Any] = {"private_network": True, "grace_seconds": 1.0, "cwd": str(root)}
        defaults["job"] = f"test-{os.getpid()}-{folder.name[-6:]}-{len(made)}"
        order = Order(
            root=str(root),
            python=sys.executable,
            nodes=nodes if isinstance(nodes, tuple) else tuple(loopback(node) for node in range(nodes)),
            procs=procs,
            **(defaults | fields),
        )
        (root / ORDER_FILE).write_text(order.to_json())
        made.append(Gang(order))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None and one.process.poll() is None:
            one.process.kill()
            one.process.wait()
    shutil.rmtree(folder, ignore_errors=True)
