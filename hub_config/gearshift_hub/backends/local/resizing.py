"""Other limits for a tree that runs: its groups where there are some, else cores and rlimits of each process.

Nothing is stopped. What a process may allocate follows where we may change it; a person's own server does it for its
kernels where the box's root lacks the right (facts-box 5, `gearshift.lab.resizing`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from gearshift_hub.backends.base import MemoryInUseError

from . import keeper
from .keeper import Box
from .limits import Limits, choose_cores, has_data_limit, set_data_limit
from .records import Record

ROUNDS = 3
"""A process that is forked while we look has its parent's old cores; the next round finds it."""


def resize(box: Box, tree: str, limits: Limits, in_use_bytes: int | None) -> None:
    """All or nothing: memory, which alone can be refused, goes first."""
    memory = limits.memory_bytes
    if memory is not None and in_use_bytes is not None and in_use_bytes > memory:
        raise MemoryInUseError(in_use_bytes, memory)
    try:
        box.groups.limit(tree, limits)
    except OSError as error:
        if error.errno != errno.EBUSY or memory is None:
            raise
        raise MemoryInUseError(in_use_bytes, memory) from error
    record = box.records.get(tree)
    if record is not None:
        _every_process(box, record, limits)


def _every_process(box: Box, record: Record, limits: Limits) -> None:
    cores = record.cores if limits.cpus is None else _cores(box, record, limits)
    if cores != record.cores:
        box.records.change(replace(record, cores=cores))
    for _ in range(ROUNDS):
        for pid in keeper.members(box.groups, record):
            if limits.memory_bytes is not None:
                _limit_data(pid, limits.memory_bytes)
            if cores != record.cores:
                _move(pid, cores or _all_cores())


def _cores(box: Box, record: Record, limits: Limits) -> tuple[int, ...]:
    """Pinned cores, where no group holds the CPU time."""
    if limits.cores or box.groups.controls("cpu"):
        return limits.cores
    others = [other.cores for other in box.records.open() if other.tree != record.tree]
    return choose_cores(limits.cpus, others, _all_cores())


def _limit_data(pid: int, memory_bytes: int) -> None:
    """Refused where root lacks CAP_SYS_RESOURCE; gone where the process has ended."""
    with suppress(PermissionError, ProcessLookupError):
        if has_data_limit(pid):
            set_data_limit(pid, memory_bytes)


def _move(pid: int, cores: Sequence[int]) -> None:
    """Every thread has cores of its own."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                os.sched_setaffinity(int(thread), cores)


def _all_cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))
