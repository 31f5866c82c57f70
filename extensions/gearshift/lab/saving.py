"""Plans and saves the variables of all kernels of this server, each within its deadline."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gearshift.lab import disk_rate, kept, manifest
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.kernel_call import KernelError, ask, check_kind, interrupt, left_until, until_idle
from gearshift.lab.manifest import Manifest, SavedKernel, SavedSession
from gearshift.lab.metrics import Sampler
from gearshift.model.errors import GearshiftError, fail

Busy = Literal["wait", "interrupt", "leave"]
Names = tuple[str, ...] | Mapping[str, tuple[str, ...]]
"""Names for all kernels, or by a kernel's id."""
PLAN_S = 20.0
SETTLES_S = 1.0
"""Within this a kernel that has answered us says that it is idle again, unless a cell of its person runs by then."""
DAY_S = 24 * 3600.0
SILENT = ("busy", "late")
"""What a kernel is that gave no answer in time: who chose not to wait for cells does not wait for it either."""
SAVE_S = 600.0
"""Control's own deadline is shorter and closes the connection, which ends the save."""


@dataclass(frozen=True)
class SaveRequest:
    """`leave_out` stays behind; the cells of `rerun` run again at the restore. `partly`: one that fails stops no other.
    `durable`: it outlives a power cut, which what is only frozen meanwhile does not."""

    operation: str
    busy: Busy
    leave_out: Names
    seconds: float
    partly: bool = False
    rerun: Names = ()
    durable: bool = True


def of_kernel(names: Names, kernel_id: str) -> tuple[str, ...]:
    return names.get(kernel_id, ()) if isinstance(names, Mapping) else names


class Saver:
    """Reaches the server's kernels and sessions through its managers."""

    def __init__(self, server: Any, environment: LabEnvironment) -> None:
        self._server, self._environment = server, environment
        self._sampler = Sampler(environment)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._asked: dict[str, float] = {}

    @property
    def _kernels(self) -> Any:
        return self._server.kernel_manager

    async def plan(self, probe: bool = False) -> dict[str, Any]:
        """What would become of each variable; a busy kernel is not asked, and says so. With `probe`, and something large
        to carry, also how fast the disk is."""
        sessions = await self._sessions()
        found = await asyncio.gather(
            *(self._plan_one(one, sessions) for one in self._kernels.list_kernel_ids())
        )
        matters = sum(kernel.get("bytes") or 0 for kernel in found) > disk_rate.MATTERS
        environment = self._environment
        disk = (
            await asyncio.to_thread(disk_rate.measured, environment.state_dir, environment.state_key)
            if probe and matters
            else None
        )
        return {"kernels": list(found), "memory": self._memory(found), "disk": disk}

    def _memory(self, kernels: list[dict[str, Any]]) -> dict[str, int | None]:
        """What is in use now: measured, and on chips that measure nothing what the variables there take."""
        sample = self._sampler.read()
        on_chips = [gpu["memory_bytes"] for gpu in sample["gpus"] or ()]
        if not on_chips or None in on_chips:
            on_chips = [v["bytes"] or 0 for k in kernels for v in k["variables"] if v.get("device")]
        return {"ram_bytes": sample["memory_bytes"], "device_bytes": sum(on_chips)}

    async def save(self, request: SaveRequest) -> dict[str, Any]:
        """All kernels at once. Raises `save_failed` when one that should have been saved was not, and then keeps nothing."""
        folder = manifest.folder_of(self._environment.state_dir, request.operation)
        try:
            return await self._save(request, folder)
        except OSError as error:  # a disk that is full or read-only, below us or below a kernel
            shutil.rmtree(folder, ignore_errors=True)
            raise fail("save_failed", cause=f"kernel state cannot be written: {error.strerror}") from error
        except GearshiftError:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    async def _save(self, request: SaveRequest, folder: Path) -> dict[str, Any]:
        started = time.perf_counter()
        self._make_room(folder)
        sessions = await self._sessions()
        ids = self._kernels.list_kernel_ids()
        reports = await asyncio.gather(*(self._save_one(one, folder, request, sessions) for one in ids))
        if not request.partly:
            _check(reports)
        self._write_list(folder, request, reports, sessions)
        report = {
            "operation": request.operation,
            "ok": all(r["status"] == "saved" for r in reports),
            "seconds": time.perf_counter() - started,
            "waited_seconds": max((r["waited_seconds"] for r in reports), default=0.0),
            "bytes": sum(r.get("bytes") or 0 for r in reports),
            "kernels": reports,
        }
        manifest.write_json(folder / "save.json", report, durable=request.durable)
        return report

    def _make_room(self, folder: Path) -> None:
        """The folder of this save, and what is kept long enough gone."""
        folder.mkdir(mode=0o700, exist_ok=True)
        kept_s = self._environment.keep_days * DAY_S
        manifest.forget_old(self._environment.state_dir, folder.name, kept_s=kept_s)

    def _write_list(
        self,
        folder: Path,
        request: SaveRequest,
        reports: list[dict[str, Any]],
        sessions: list[SavedSession],
    ) -> None:
        kernels = tuple(
            SavedKernel(
                r["kernel_id"],
                r["name"],
                r["file"],
                kept.seal(folder / r["file"]) if r["file"] else None,
                of_kernel(request.rerun, r["kernel_id"]),
            )
            for r in reports
            if r["kernel_id"] in self._kernels
        )
        environment = self._environment
        listed = Manifest(
            request.operation, kernels, tuple(sessions), environment.owner, environment.workspace
        )
        manifest.write(folder, listed, environment.state_key, durable=request.durable)

    async def _sessions(self) -> list[SavedSession]:
        rows = await self._server.session_manager.list_sessions()
        return [
            SavedSession(row["id"], row["path"], row["name"], row["type"], row["kernel"]["id"])
            for row in rows
        ]

    @asynccontextmanager
    async def _turn(self, kernel_id: str, manager: Any, seconds: float) -> AsyncIterator[None]:
        """One question of ours at a time: a kernel that answers us is busy too, and must not look so to the next one."""
        try:
            await asyncio.wait_for(self._turns[kernel_id].acquire(), seconds)
        except TimeoutError as error:
            raise KernelError("busy", f"the kernel did not answer within {seconds:g} s") from error
        try:
            if time.monotonic() - self._asked.get(kernel_id, -SETTLES_S) < SETTLES_S:
                with suppress(KernelError):
                    await until_idle(manager, SETTLES_S)
            yield
        finally:
            self._asked[kernel_id] = time.monotonic()
            self._turns[kernel_id].release()

    async def _plan_one(self, kernel_id: str, sessions: list[SavedSession]) -> dict[str, Any]:
        manager = self._kernels.get_kernel(kernel_id)
        try:
            async with self._turn(kernel_id, manager, PLAN_S):
                return await self._plan_in_turn(kernel_id, manager, sessions)
        except KernelError as error:
            failed = {"busy": True, "variables": [], "error": {"code": error.code, "text": error.text}}
            return {**_who(kernel_id, manager, sessions), **failed}

    async def _plan_in_turn(
        self, kernel_id: str, manager: Any, sessions: list[SavedSession]
    ) -> dict[str, Any]:
        found = {**_who(kernel_id, manager, sessions), "busy": manager.execution_state == "busy"}
        if found["busy"]:
            return {**found, "variables": [], "error": {"code": "busy", "text": "a cell is running"}}
        try:
            check_kind(manager)
            report = await ask(manager, {"do": "plan"}, self._folder, PLAN_S)
        except KernelError as error:
            return {**found, "variables": [], "error": {"code": error.code, "text": error.text}}
        return {**found, **report, "error": None}

    async def _save_one(
        self, kernel_id: str, folder: Path, request: SaveRequest, sessions: list[SavedSession]
    ) -> dict[str, Any]:
        manager = self._kernels.get_kernel(kernel_id)
        found = {
            **_who(kernel_id, manager, sessions),
            "status": "saved",
            "file": None,
            "waited_seconds": 0.0,
            "variables": [],
            "error": None,
        }
        file = kept.file_name(kernel_id)
        end = time.monotonic() + request.seconds
        try:
            if not await manager.is_alive():
                raise KernelError("dead", "the kernel is not running")
            check_kind(manager)
            what = {
                "do": "save",
                "path": str(folder / file),
                "key_folder": str(self._environment.state_dir),
                "leave_out": list(of_kernel(request.leave_out, kernel_id)),
                "durable": request.durable,
            }
            async with self._turn(kernel_id, manager, left_until(end)):
                found["waited_seconds"] = await _settle(manager, request.busy, end)
                report = await ask(manager, what, self._folder, left_until(end))
        except KernelError as error:
            status = "left" if error.code in SILENT and request.busy != "wait" else error.code
            return {**found, "status": status, "error": {"code": error.code, "text": error.text}}
        return {**found, **report, "file": file}

    @property
    def _folder(self) -> Path:
        return Path(self._server.runtime_dir)


async def _settle(manager: Any, busy: Busy, end: float) -> float:
    """A busy kernel as was chosen before; the seconds that took."""
    started = time.perf_counter()
    if manager.execution_state != "busy":
        return 0.0
    if busy == "leave":
        raise KernelError("left", "a cell is running; its variables are left behind as chosen")
    await (interrupt if busy == "interrupt" else until_idle)(manager, left_until(end))
    return time.perf_counter() - started


def _check(reports: list[dict[str, Any]]) -> None:
    for report in reports:
        if report["status"] in ("busy", "disk_full", "failed", "refused", "late"):
            where = report["path"] or report["kernel_id"]
            raise fail("save_failed", cause=f"{where}: {report['error']['text']}", kernel=report["kernel_id"])


def _who(kernel_id: str, manager: Any, sessions: list[SavedSession]) -> dict[str, Any]:
    path = next((s.path for s in sessions if s.kernel_id == kernel_id), "")
    return {"kernel_id": kernel_id, "path": path, "name": manager.kernel_name}
