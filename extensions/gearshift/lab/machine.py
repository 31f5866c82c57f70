"""What machine this server is on now: told at its launch, and again by control when a live resize changed it.

New kernels and terminals take their environment from this process, so it is changed here; running ones follow.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from dataclasses import dataclass

import psutil

from gearshift.state.threads import POOLS


@dataclass(frozen=True)
class Size:
    """A machine as its kernels see it; None is unknown."""

    machine: str | None
    cpus: float | None
    memory_bytes: int | None
    threads: int | None = None

    def environment(self) -> dict[str, str]:
        """The variables that say so."""
        said = {
            "GEARSHIFT_MACHINE": self.machine,
            "GEARSHIFT_CPUS": None if self.cpus is None else f"{self.cpus:g}",
            "GEARSHIFT_MEMORY_BYTES": self.memory_bytes,
            **dict.fromkeys(POOLS, self.threads),
        }
        return {name: str(value) for name, value in said.items() if value is not None}


class MachineNow:
    """The one place that knows; the meters and the memory guard ask it."""

    def __init__(self, size: Size) -> None:
        self.size = size

    def change(self, size: Size) -> None:
        """From now on this is the machine, also for every process of this workspace."""
        self.size = size
        os.environ.update(size.environment())
        if size.memory_bytes is not None:
            _limit_data(size.memory_bytes)


def _limit_data(memory_bytes: int) -> None:
    """What a process may allocate, for those that have such a limit: root may lack the right to change it for us."""
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with suppress(OSError, psutil.Error):
            soft, hard = resource.prlimit(process.pid, resource.RLIMIT_DATA)
            if soft != resource.RLIM_INFINITY:
                within = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (within, hard))
