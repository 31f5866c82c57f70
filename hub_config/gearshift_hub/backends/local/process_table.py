"""What /proc says of processes: who lives, who is below whom, how much they use."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One line of /proc/PID/stat."""

    pid: int
    parent: int
    session: int
    state: str
    start: int
    """Clock ticks since boot: with the pid it names a process for ever (until the next boot)."""
    cpu_ticks: int


def boot_id() -> str:
    """Changes with every boot, so that a pid of an earlier boot is never taken for a live one."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def read(pid: int) -> Process | None:
    """The process, or None when it is gone."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        state=fields[0],
        start=int(fields[19]),
        cpu_ticks=sum(int(value) for value in fields[11:15]),
    )


def is_alive(pid: int, start: int) -> bool:
    """Whether exactly this process still runs (a zombie does not)."""
    process = read(pid)
    return process is not None and process.start == start and process.state not in "ZX"


def all_processes() -> list[Process]:
    """Every process that can be seen from here."""
    found = (read(int(name)) for name in os.listdir(PROC) if name.isdigit())
    return [process for process in found if process is not None]


def below(pid: int, table: Iterable[Process] | None = None) -> list[Process]:
    """The descendants of a process, without itself."""
    children: dict[int, list[Process]] = {}
    for process in all_processes() if table is None else table:
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [pid]
    while waiting:
        level = children.get(waiting.pop(), [])
        found += level
        waiting += [process.pid for process in level]
    return found


def children(pid: int) -> list[int]:
    """The direct children of a process; fast where the kernel lists them, so that a fork chain cannot outrun it."""
    try:
        return [int(word) for word in (PROC / f"{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return [process.pid for process in all_processes() if process.parent == pid]


def marked(name: str, value: str) -> list[int]:
    """Pids whose environment at exec held name=value; those we may not read are left out."""
    wanted = f"{name}={value}".encode()
    found = []
    for entry in os.listdir(PROC):
        if entry.isdigit():
            try:
                environment = (PROC / entry / "environ").read_bytes()
            except OSError:
                continue
            if wanted in environment.split(b"\0"):
                found.append(int(entry))
    return found


def proportional_bytes(pid: int) -> int:
    """The process's share of memory (PSS); where that is hidden, its resident size; 0 when gone."""
    try:
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except PermissionError:
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def wait_for_end(pid: int, start: int, seconds: float | None) -> bool:
    """Wait without polling until exactly this process has ended; False when it did not in time (None: ever)."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        if not is_alive(pid, start):
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(None if seconds is None else max(0.0, seconds) * 1000))
    finally:
        os.close(descriptor)


def send(pid: int, start: int, signal_number: int) -> None:
    """Signal exactly this process; nothing happens when it is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if is_alive(pid, start):
            signal.pidfd_send_signal(descriptor, signal_number)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time of these processes and of their children that have ended."""
    found = (read(pid) for pid in pids)
    return sum(process.cpu_ticks for process in found if process) / os.sysconf("SC_CLK_TCK")
