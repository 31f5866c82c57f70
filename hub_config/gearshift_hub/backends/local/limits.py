"""What one tree may use, and the part of it that every process carries itself: rlimits, cores, thread counts."""

from __future__ import annotations

import math
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Role = Literal["server", "job"]

OOM_SCORE: dict[Role, int] = {"server": 0, "job": 600}
"""The kernel ends the highest first; kernels of a server get 300 (warm.py), so the server goes last."""

OPEN_FILES = 65536
_THREAD_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Limits:
    """The limits of one tree; None means the box's own."""

    memory_bytes: int | None = None
    cpus: float | None = None
    pids: int | None = None
    threads: int | None = None
    cores: tuple[int, ...] = ()
    """Pinned cores; empty means all."""


def thread_environment(limits: Limits) -> dict[str, str]:
    """Thread pools size themselves by these, since a CPU quota does not change what os.cpu_count says."""
    threads = limits.threads or (max(1, math.ceil(limits.cpus)) if limits.cpus else None)
    return {} if threads is None else dict.fromkeys(_THREAD_COUNTS, str(threads))


def set_rlimits(limits: Limits, devices: bool) -> None:
    """No core files, enough open files, and one huge allocation ends in MemoryError instead of a kill.

    RLIMIT_DATA is left alone with devices: their drivers reserve address space beyond any memory limit.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_within(OPEN_FILES, hard), hard))
    if limits.memory_bytes and not devices:
        set_data_limit(0, limits.memory_bytes)


def set_data_limit(pid: int, memory_bytes: int) -> None:
    """The soft limit only: a hard one that was lowered could never be raised again by a live resize. The control
    group is what holds the memory of the whole tree."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_DATA)
    resource.prlimit(pid, resource.RLIMIT_DATA, (_within(memory_bytes, hard), hard))


def has_data_limit(pid: int) -> bool:
    """A process with devices, or one that was never limited, has none and gets none."""
    return resource.prlimit(pid, resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY


def _within(value: int, hard: int) -> int:
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def set_oom_score(role: Role) -> None:
    """Raise this process's share of blame; the kernel refuses to lower it, so a higher one stays."""
    path = "/proc/self/oom_score_adj"
    with open(path) as file:
        current = int(file.read())
    if OOM_SCORE[role] > current:
        with open(path, "w") as file:
            file.write(str(OOM_SCORE[role]))


def choose_cores(
    cpus: float | None, taken: Sequence[tuple[int, ...]], available: Sequence[int]
) -> tuple[int, ...]:
    """The least used cores for a tree that no CPU quota can hold; empty when it may use all of them."""
    wanted = math.ceil(cpus) if cpus else len(available)
    if wanted >= len(available):
        return ()
    use = {core: sum(core in cores for cores in taken) for core in available}
    return tuple(sorted(sorted(available, key=lambda core: use[core])[:wanted]))
