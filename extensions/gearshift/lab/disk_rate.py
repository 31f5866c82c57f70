"""How fast the state folder takes bytes: learned from saves, else measured once when it begins to matter."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any

MATTERS = 64 << 20
"""Below this the answer is "at once", whatever the disk."""
PROBE = 16 << 20
_ASSUMED = 500e6


class DiskRate:
    """Bytes a second, fsync included."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rate: float | None = None

    async def fill(self, kernels: list[dict[str, Any]]) -> None:
        """Gives every variable the seconds that saving it takes."""
        total = sum(kernel.get("bytes") or 0 for kernel in kernels)
        if self._rate is None and total > MATTERS:
            self._rate = await asyncio.to_thread(_measured, self._folder)
        rate = self._rate or _ASSUMED
        for kernel in kernels:
            for variable in kernel["variables"]:
                moves = variable["verdict"] == "copy"
                variable["seconds"] = round(variable["bytes"] / rate, 3) if moves else None

    def learn(self, report: dict[str, Any]) -> None:
        """A save that was large enough says more than a probe."""
        if report["bytes"] > MATTERS and report["seconds"]:
            self._rate = report["bytes"] / report["seconds"]


def _measured(folder: Path) -> float | None:
    """None where nothing can be written; the save will say why."""
    data = os.urandom(1 << 20)
    started = time.perf_counter()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            for _ in range(PROBE >> 20):
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return None
    return PROBE / (time.perf_counter() - started)
