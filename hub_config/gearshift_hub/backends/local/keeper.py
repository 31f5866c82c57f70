"""The keeper of one tree: ours, outside the tree's limits, and with it to the end.

It adopts the tree's orphans, waits for the leader, then ends what is left, removes what the tree used and
writes the exit code down. It outlives fork server, hub and control. It never reads a request.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gearshift_hub.paths import Home

from . import firewall, process_table
from .cgroups import Groups
from .records import Record, Records

SWEEP_SECONDS = 30.0
CLEAN_SECONDS = 15.0
"""How long a keeper is waited for. It takes milliseconds on a quiet box; a busy one must not be told a lie."""
ROUND_SECONDS = 0.0002


@dataclass(frozen=True)
class Box:
    """Where the trees of one deployment are written down and grouped."""

    home: Home
    groups: Groups
    records: Records
    private_view: bool = False
    """Whether trees get a mount namespace; known to the fork server, which has tried."""

    @classmethod
    def of(cls, home: Home) -> Box:
        return cls(home, Groups(home.cgroup), Records(home.run / "trees"))


def keep(box: Box, leader: int, note: int) -> None:
    """Stay with the tree led by child `leader`, whose record comes through the pipe `note`."""
    _stand_apart(box)
    record = _read_record(note)
    code = _wait(leader)
    if record is not None:
        _end_descendants(box.groups, record.tree)
        clean(box, record, code)


def keep_orphan(box: Box, record: Record) -> None:
    """Stay with a tree whose keeper is gone; how its leader ends cannot be known."""
    _stand_apart(box)
    if record.leads:
        process_table.wait_for_end(record.pid, record.start, seconds=None)
    clean(box, record, None)


def clean(box: Box, record: Record, exit_code: int | None) -> None:
    """Remove what an ended tree used, and write its end down; may be repeated."""
    end_members(box.groups, record)
    box.groups.remove(record.tree)
    if record.runtime_dir and Path(record.runtime_dir).is_relative_to(box.home.runtime):
        shutil.rmtree(record.runtime_dir, ignore_errors=True)
        with suppress(OSError):
            Path(record.runtime_dir).parent.rmdir()
    if record.guarded_ports:
        firewall.open_ports(record.uid, record.guarded_ports)
    box.records.end(record.tree, exit_code)


def end_tree(box: Box, record: Record, seconds: float = CLEAN_SECONDS) -> None:
    """Kill a tree and see it cleaned up: by its keeper, or where that is gone, by us."""
    box.groups.kill(record.tree)
    process_table.send(record.pid, record.start, signal.SIGKILL)
    if record.is_kept:
        process_table.wait_for_end(record.keeper, record.keeper_start, seconds)
    if not box.records.ended(record.tree):
        clean(box, record, None)


def end_all(box: Box) -> None:
    """Kill every tree of the deployment; returns when nothing is left."""
    for record in list(box.records.open()):
        end_tree(box, record)
    box.groups.remove_all()
    shutil.rmtree(box.home.runtime, ignore_errors=True)


def end_members(groups: Groups, record: Record) -> bool:
    """Kill all that can be found of a tree, in rounds until a round finds nothing. For a tree whose keeper is
    gone: without control groups a process can slip through that has shed session, parent and environment."""
    ends = time.monotonic() + SWEEP_SECONDS
    killed: dict[int, int] = {}
    while time.monotonic() < ends:
        groups.kill(record.tree)
        left = [process for pid in members(groups, record) if (process := process_table.read(pid))]
        if not left:
            return _are_gone(killed, ends)
        for process in left:
            _kill_sterile(process.pid)
        killed |= {process.pid: process.start for process in left}
        time.sleep(ROUND_SECONDS)
    return False


def _are_gone(killed: Mapping[int, int], ends: float) -> bool:
    """Wait for the killed: one whose memory is being taken back still runs, and no longer shows its mark."""
    return all(
        process_table.wait_for_end(pid, start, ends - time.monotonic()) for pid, start in killed.items()
    )


def members(groups: Groups, record: Record) -> list[int]:
    """Pids of a tree: those in its group; without groups the leader, its session, all below its keeper, and
    those that carry its mark."""
    found = set(groups.pids(record.tree))
    if not groups.where.roots():
        table = process_table.all_processes()
        found |= {process.pid for process in table if process.session == record.pid}
        found |= set(process_table.marked("GEARSHIFT_TREE", record.tree))
        if record.leads:
            found |= {record.pid, *(process.pid for process in process_table.below(record.pid, table))}
        if record.is_kept:
            found |= {process.pid for process in process_table.below(record.keeper, table)}
    return sorted(pid for pid in found - {os.getpid(), record.keeper} if not _is_dead(pid))


def _end_descendants(groups: Groups, tree: str) -> bool:
    """Kill all below the calling keeper. Every orphan becomes its child, so no child left means nothing left,
    whatever a process did to hide."""
    ends = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < ends:
        groups.kill(tree)
        for pid in process_table.children(os.getpid()):
            _kill_sterile(pid)
        if not _reap():
            return True
        time.sleep(ROUND_SECONDS)
    return False


def _stand_apart(box: Box) -> None:
    """Out of reach of a terminal's signals and of whoever reads the fork server's output."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    log = os.open(box.home.logs / "keepers.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for standard, descriptor in enumerate((nothing, log, log)):
        os.dup2(descriptor, standard)
    os.close(log)
    os.close(nothing)


def _kill_sterile(pid: int) -> None:
    """No more children, then dead: a chain of forks must not outrun the loop."""
    with suppress(OSError):
        resource.prlimit(pid, resource.RLIMIT_NPROC, (0, 0))
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _is_dead(pid: int) -> bool:
    process = process_table.read(pid)
    return process is None or process.state in "ZX"


def _read_record(note: int) -> Record | None:
    with os.fdopen(note, "rb") as file:
        text = file.read()
    return Record.from_json(text) if text else None


def _wait(leader: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == leader:
            return os.waitstatus_to_exitcode(status)


def _reap() -> bool:
    """Take the exit status of every child that has one; False when no child is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
