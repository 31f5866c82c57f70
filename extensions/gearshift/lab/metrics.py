"""What this workspace uses of its machine: its own process tree, or its control group where it has one.

Unknown is null, never 0.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from gearshift.lab.chips import chips
from gearshift.lab.control_group import Group, own_group
from gearshift.lab.environment import LabEnvironment


class Sampler:
    """Use of the processor is measured between one question and the next."""

    def __init__(self, environment: LabEnvironment) -> None:
        self._environment = environment
        self._group: Group | None = own_group(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
        self._last: tuple[float, float] | None = None

    def read(self) -> dict[str, Any]:
        """One sample."""
        tree = _tree() if self._group is None else []
        cpus = self._cpus()
        gpus, reason = chips(self._environment)
        return {
            "cpu_percent": self._cpu_percent(tree, cpus),
            "cpus": cpus,
            "memory_bytes": self._group.memory_bytes() if self._group else _resident(tree),
            "memory_limit_bytes": self._memory_limit(),
            "memory_warn_share": self._environment.memory_warn_share,
            "gpus": gpus,
            "reason": reason.en if reason else None,
            "reason_zh": reason.zh if reason else None,
            "devices": list(self._environment.devices),
            "machine": self._environment.now.size.machine,
            "at": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        }

    def memory(self) -> tuple[int | None, int | None]:
        """Bytes in use, and the limit."""
        used = self._group.memory_bytes() if self._group else _resident(_tree())
        return used, self._memory_limit()

    def _cpus(self) -> float:
        limit = self._group.cpus() if self._group else None
        return limit or self._environment.now.size.cpus or float(len(os.sched_getaffinity(0)))

    def _memory_limit(self) -> int | None:
        limit = self._group.memory_limit_bytes() if self._group else None
        return limit or self._environment.now.size.memory_bytes

    def _cpu_percent(self, tree: list[psutil.Process], cpus: float) -> float | None:
        used = self._group.cpu_seconds() if self._group else _cpu_seconds(tree)
        if used is None:
            return None
        now = time.monotonic()
        last, self._last = self._last, (now, used)
        if last is None or now <= last[0] or used < last[1]:
            return None
        return round(100 * (used - last[1]) / (now - last[0]) / cpus, 1)


def _tree() -> list[psutil.Process]:
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


def _resident(tree: list[psutil.Process]) -> int | None:
    found = [size for process in tree if (size := _ask(lambda p=process: p.memory_info().rss)) is not None]
    return sum(found) if found else None


def _cpu_seconds(tree: list[psutil.Process]) -> float | None:
    times = [spent for process in tree if (spent := _ask(process.cpu_times)) is not None]
    return sum(t.user + t.system for t in times) if times else None


def _ask(question: Any) -> Any:
    """A process that has just ended, or is not ours to ask, answers nothing."""
    try:
        return question()
    except psutil.Error:
        return None
