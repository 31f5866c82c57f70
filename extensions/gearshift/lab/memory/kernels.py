"""The kernels of this server as processes: which one grows, which one the system should end first, how one ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gearshift.lab.memory.running_cell import Cell, RunningCell

BUSY_SCORE, IDLE_SCORE = 1000, 300
"""The system ends the highest first, and adds what a process holds: so the kernel that computes, not the large one at
rest, and never the server."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Watched:
    """One kernel process. `process` still tells its exit code when another one is in its place."""

    manager: Any
    process: Any
    running: RunningCell
    score: int = 0
    resident_bytes: int = 0

    @property
    def is_busy(self) -> bool:
        return bool(self.manager.execution_state == "busy")

    def look(self) -> None:
        self.resident_bytes = _resident(self.process.pid)
        score = BUSY_SCORE if self.is_busy else IDLE_SCORE
        if score != self.score and _mark(self.process.pid, score):
            self.score = score


@dataclass(frozen=True)
class Death:
    """How a kernel ended; `code` is negative for a signal and None when nobody saw it."""

    kernel_id: str
    code: int | None
    cell: Cell | None


class Kernels:
    """All kernels of this server; `died` is told of each that ended without being asked to."""

    def __init__(self, server: Any, died: Callable[[Death], None]) -> None:
        self._server, self._died = server, died
        self._watched: dict[str, Watched] = {}

    def look(self) -> dict[str, int]:
        """Resident bytes by kernel id."""
        kernels = self._server.kernel_manager
        for kernel_id in kernels.list_kernel_ids():
            manager = kernels.get_kernel(kernel_id)
            process = getattr(manager.provisioner, "process", None)
            if process is not None and self._is_new(kernel_id, process):
                self._watch(kernel_id, manager, process)
        for kernel_id in [one for one in self._watched if one not in kernels]:
            self._watched.pop(kernel_id).running.close()
        for one in self._watched.values():
            one.look()
        return {kernel_id: one.resident_bytes for kernel_id, one in self._watched.items()}

    def busy(self) -> list[str]:
        return [kernel_id for kernel_id, one in self._watched.items() if one.is_busy]

    def heard(self) -> list[str]:
        return [kernel_id for kernel_id, one in self._watched.items() if one.running.is_heard]

    def cell(self, kernel_id: str) -> Cell | None:
        one = self._watched.get(kernel_id)
        return one.running.cell if one else None

    def _is_new(self, kernel_id: str, process: Any) -> bool:
        known = self._watched.get(kernel_id)
        return known is None or known.process.pid != process.pid

    def _watch(self, kernel_id: str, manager: Any, process: Any) -> None:
        known = self._watched.get(kernel_id)
        if known is not None:
            known.running.close()
        else:
            manager.add_restart_callback(lambda: self._ended(kernel_id), "restart")
            manager.add_restart_callback(lambda: self._ended(kernel_id), "dead")
        self._watched[kernel_id] = Watched(manager, process, RunningCell(manager))

    def _ended(self, kernel_id: str) -> None:
        """Called by Jupyter's own watch, which knows what was asked for and what was not."""
        one = self._watched.get(kernel_id)
        if one is not None:
            self._died(Death(kernel_id, one.process.poll(), one.running.cell))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _mark(pid: int, score: int) -> bool:
    try:
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(score))
    except OSError:
        return False
    return True
