"""The loop that looks at memory: tells when little is left, interrupts if wanted, and says what a dead kernel died of."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from gearshift.lab.control_group import own_group
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.kernel_call import KernelError, ask, check_kind, until_idle
from gearshift.lab.memory.evidence import Kills, kills_on_this_box
from gearshift.lab.memory.incidents import Incident, Incidents
from gearshift.lab.memory.kernels import Death, Kernels
from gearshift.lab.memory.marks import Mark, grew_most
from gearshift.lab.memory.running_cell import Cell
from gearshift.lab.memory.telling import ControlTeller
from gearshift.lab.metrics import Sampler
from gearshift.model.units import format_bytes

CALM_S, NEAR_S = 0.25, 0.1
NEAR_SHARE = 0.7
CELL_S, SIZES_S = 60.0, 3.0
NAMED = 3
NAMED_SHARE = 0.01
"""Of the limit: what is smaller fills no memory. It is all that is left to name where the kernel that did has just died."""


class MemoryGuard:
    """One for each server."""

    def __init__(self, server: Any, environment: LabEnvironment) -> None:
        self._server, self._environment = server, environment
        self.incidents = Incidents(environment.state_dir)
        self._teller = ControlTeller(environment) if environment.control_url else None
        self._sampler = Sampler(environment)
        self._group = own_group(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
        self._kills = Kills(self._group.kills if self._group else kills_on_this_box)
        self._kernels = Kernels(server, self._died)
        self._warn = Mark(environment.memory_warn_share)
        self._interrupt = Mark(environment.memory_interrupt_share)
        self._sizes: dict[str, int] = {}
        self._peak = 0
        self._telling: set[asyncio.Task[Any]] = set()

    async def run(self) -> None:
        """For as long as the server lives; one look that fails is told in the log and is not the last."""
        while True:
            near = False
            try:
                near = self.look()
            except Exception:
                self._server.log.exception("The memory guard could not look")
            await asyncio.sleep(NEAR_S if near else CALM_S)

    def look(self) -> bool:
        """One look; true when little is left, so that the next one should come soon."""
        before, self._sizes = self._sizes, self._kernels.look()
        self._kills.look()
        used, limit = self.usage()
        if used is None or limit is None:
            return False
        self._peak = max(self._peak, used)
        if self._interrupt.passes(used, limit) and self.incidents.interrupt:
            busy = {one: self._sizes[one] for one in self._kernels.busy() if one in self._sizes}
            kernel_id = grew_most(before, busy)
            if kernel_id is not None:
                self._start(self._stop_cell(kernel_id, used, limit))
        if self._warn.passes(used, limit):
            self._start(self._tell_near(used, limit))
        return used >= NEAR_SHARE * limit

    def usage(self) -> tuple[int | None, int | None]:
        """Bytes in use and the limit, of this workspace."""
        return self._sampler.memory()

    def resident(self) -> dict[str, int]:
        """Bytes by kernel, of those that are heard."""
        return {one: self._sizes[one] for one in self._kernels.heard() if one in self._sizes}

    async def _tell_near(self, used: int, limit: int) -> None:
        """At once with what is known; the variables of the largest kernel follow when its cell has ended."""
        largest = max(self._sizes, key=lambda one: self._sizes[one], default=None)
        incident = await self._incident("memory_near", largest, used=used, limit=limit)
        self._add(incident)
        named = await self._variables(largest, NAMED_SHARE * limit) if largest else []
        if named:
            told = await self._incident("memory_near", largest, used=used, limit=limit, named=named)
            self.incidents.amend(replace(told, id=incident.id, at=incident.at))

    async def _stop_cell(self, kernel_id: str, used: int, limit: int) -> None:
        await self._server.kernel_manager.get_kernel(kernel_id).interrupt_kernel()
        self._add(await self._incident("memory_interrupted", kernel_id, used=used, limit=limit))

    def _died(self, death: Death) -> None:
        killed = death.code == -signal.SIGKILL and self._kills.explains_one()
        self._start(self._tell_death(death, killed))

    async def _tell_death(self, death: Death, killed: bool) -> None:
        used, limit = self.usage()
        if killed:
            peak = (self._group.peak_bytes() if self._group else None) or max(self._peak, used or 0)
            incident = await self._incident(
                "kernel_oom", death.kernel_id, death.cell, used=peak, limit=limit, peak=True
            )
        elif death.code is not None and death.code < 0:
            incident = await self._incident("kernel_signal", death.kernel_id, death.cell, sent=-death.code)
        else:
            incident = await self._incident("kernel_exit", death.kernel_id, death.cell, exit_code=death.code)
        self._add(incident)

    def _add(self, incident: Incident) -> None:
        """For this server's own pages, and by control for all others."""
        self.incidents.add(incident)
        if self._teller is not None:
            self._start(self._teller.tell(incident))

    async def _incident(
        self,
        code: str,
        kernel_id: str | None,
        cell: Cell | None = None,
        *,
        used: int | None = None,
        limit: int | None = None,
        peak: bool = False,
        sent: int | None = None,
        exit_code: int | None = None,
        named: list[dict[str, Any]] | None = None,
    ) -> Incident:
        cell = cell or (self._kernels.cell(kernel_id) if kernel_id else None)
        path, label = await self._who(kernel_id)
        facts = {
            "kernel": label,
            "machine": self._environment.machine,
            "peak" if peak else "use": None if used is None else format_bytes(used),
            "limit": None if limit is None else format_bytes(limit),
            "peak_bytes" if peak else "use_bytes": used,
            "limit_bytes": limit,
            "signal": sent,
            "signal_name": _signal_name(sent),
            "exit_code": exit_code,
            "largest": _listed(named),
            "variables": named,
            "cell": None if cell is None else _cell_words(cell),
        }
        told = None if cell is None else {"count": cell.count, "source": cell.source}
        known = {name: value for name, value in facts.items() if value is not None}
        return Incident.of(code, kernel_id, path, told, known)

    async def _who(self, kernel_id: str | None) -> tuple[str, str | None]:
        """The notebook's path, and the name by which a person knows the kernel."""
        if kernel_id is None:
            return "", None
        rows = await self._server.session_manager.list_sessions()
        path = next((str(row["path"]) for row in rows if row["kernel"]["id"] == kernel_id), "")
        return path, path.rpartition("/")[2] or kernel_id[:8]

    async def _variables(self, kernel_id: str, least: float) -> list[dict[str, Any]]:
        """Its largest variables from so many bytes on; none where it cannot be asked."""
        manager = self._server.kernel_manager.get_kernel(kernel_id)
        try:
            check_kind(manager)
            await until_idle(manager, CELL_S)
            said = await ask(manager, {"do": "sizes", "most": NAMED}, Path(self._server.runtime_dir), SIZES_S)
        except KernelError:
            return []
        return [one for one in said["variables"] if one["bytes"] >= least]

    def _start(self, work: Any) -> None:
        """Kept until it is done: a task that nobody holds may be thrown away."""
        task = asyncio.ensure_future(work)
        self._telling.add(task)
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[Any]) -> None:
        self._telling.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._server.log.error("The memory guard could not tell", exc_info=task.exception())


def _listed(named: list[dict[str, Any]] | None) -> str | None:
    return ", ".join(f"{one['name']} {format_bytes(one['bytes'])}" for one in named) if named else None


def _cell_words(cell: Cell) -> str:
    return f"[{cell.count}] {cell.first_line}" if cell.count is not None else cell.first_line


def _signal_name(number: int | None) -> str | None:
    try:
        return None if number is None else signal.Signals(number).name
    except ValueError:
        return None
