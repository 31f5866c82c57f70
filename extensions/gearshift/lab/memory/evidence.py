"""Whether the memory limit killed something lately: the kernel's own count, of our group or of the whole box."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

VMSTAT = Path("/proc/vmstat")
LATELY_S = 20.0
"""A dead kernel is noticed some seconds after its end."""


class Kills:
    """Each kill explains one death."""

    def __init__(self, count: Callable[[], int | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._count, self._clock = count, clock
        self._known = count()
        self._unexplained: list[float] = []

    def look(self) -> None:
        """Note what was killed since the last look."""
        now, found = self._clock(), self._count()
        new = 0 if found is None or self._known is None else max(0, found - self._known)
        self._known = found
        self._unexplained = [at for at in self._unexplained if now - at <= LATELY_S] + [now] * new

    def explains_one(self) -> bool:
        """Whether a kill is left that explains a death seen now."""
        self.look()
        if not self._unexplained:
            return False
        self._unexplained.pop(0)
        return True


def kills_on_this_box(path: Path = VMSTAT) -> int | None:
    """Processes that ran out of memory since boot; None where the kernel does not tell."""
    try:
        rows = dict(line.split() for line in path.read_text().splitlines())
    except (OSError, ValueError):
        return None
    return int(rows["oom_kill"]) if "oom_kill" in rows else None
