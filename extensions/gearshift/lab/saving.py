"""Plans and saves the variables of all kernels of this server, each within its deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gearshift.lab import kept, manifest
from gearshift.lab.disk_rate import DiskRate
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.kernel_call import KernelError, ask, check_kind, interrupt, until_idle
from gearshift.lab.manifest import Manifest, SavedKernel, SavedSession
from gearshift.model.errors import fail

Busy = Literal["wait", "interrupt", "leave"]
PLAN_S = 20.0
DAY_S = 24 * 3600.0
SAVE_S = 600.0
"""Control's own deadline is shorter and closes the connection, which ends the save."""


@dataclass(frozen=True)
class SaveRequest:
    """`leave_out`: names for all kernels, or a list of names by kernel id. `partly`: one that fails stops no other."""

    operation: str
    busy: Busy
    leave_out: tuple[str, ...] | Mapping[str, tuple[str, ...]]
    seconds: float
    partly: bool = False

    def names(self, kernel_id: str) -> list[str]:
        """What stays behind of this kernel."""
        return list(
            self.leave_out.get(kernel_id, ()) if isinstance(self.leave_out, Mapping) else self.leave_out
        )


class Saver:
    """Reaches the server's kernels and sessions through its managers."""

    def __init__(self, server: Any, environment: LabEnvironment) -> None:
        self._server, self._environment = server, environment
        self._rate = DiskRate(environment.state_dir)

    @property
    def _kernels(self) -> Any:
        return self._server.kernel_manager

    async def plan(self) -> dict[str, Any]:
        """What would become of each variable; a busy kernel is not asked, and says so."""
        sessions = await self._sessions()
        found = await asyncio.gather(
            *(self._plan_one(one, sessions) for one in self._kernels.list_kernel_ids())
        )
        await self._rate.fill(list(found))
        return {"kernels": list(found)}

    async def save(self, request: SaveRequest) -> dict[str, Any]:
        """All kernels at once. Raises `save_failed` when one that should have been saved was not."""
        started = time.perf_counter()
        folder = manifest.folder_of(self._environment.state_dir, request.operation)
        folder.mkdir(mode=0o700, exist_ok=True)
        kept_s = self._environment.keep_days * DAY_S
        manifest.forget_old(self._environment.state_dir, request.operation, kept_s=kept_s)
        sessions = await self._sessions()
        ids = self._kernels.list_kernel_ids()
        reports = await asyncio.gather(*(self._save_one(one, folder, request, sessions) for one in ids))
        if not request.partly:
            _check(reports)
        self._write_list(folder, request.operation, reports, sessions)
        report = {
            "operation": request.operation,
            "ok": all(r["status"] == "saved" for r in reports),
            "seconds": time.perf_counter() - started,
            "bytes": sum(r.get("bytes") or 0 for r in reports),
            "kernels": reports,
        }
        manifest.write_json(folder / "save.json", report)
        self._rate.learn(report)
        return report

    def _write_list(
        self, folder: Path, operation: str, reports: list[dict[str, Any]], sessions: list[SavedSession]
    ) -> None:
        kernels = tuple(
            SavedKernel(
                r["kernel_id"], r["name"], r["file"], kept.seal(folder / r["file"]) if r["file"] else None
            )
            for r in reports
            if r["kernel_id"] in self._kernels
        )
        environment = self._environment
        listed = Manifest(operation, kernels, tuple(sessions), environment.owner, environment.workspace)
        manifest.write(folder, listed, environment.state_key)

    async def _sessions(self) -> list[SavedSession]:
        rows = await self._server.session_manager.list_sessions()
        return [
            SavedSession(row["id"], row["path"], row["name"], row["type"], row["kernel"]["id"])
            for row in rows
        ]

    async def _plan_one(self, kernel_id: str, sessions: list[SavedSession]) -> dict[str, Any]:
        manager = self._kernels.get_kernel(kernel_id)
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
            "variables": [],
            "error": None,
        }
        file = kept.file_name(kernel_id)
        try:
            if not await manager.is_alive():
                raise KernelError("dead", "the kernel is not running")
            check_kind(manager)
            await _settle(manager, request)
            what = {
                "do": "save",
                "path": str(folder / file),
                "key_folder": str(self._environment.state_dir),
                "leave_out": request.names(kernel_id),
            }
            report = await ask(manager, what, self._folder, request.seconds)
        except KernelError as error:
            status = "left" if error.code == "left" else error.code
            return {**found, "status": status, "error": {"code": error.code, "text": error.text}}
        return {**found, **report, "file": file}

    @property
    def _folder(self) -> Path:
        return Path(self._server.runtime_dir)


async def _settle(manager: Any, request: SaveRequest) -> None:
    """A busy kernel as was chosen before."""
    if manager.execution_state != "busy":
        return
    if request.busy == "leave":
        raise KernelError("left", "a cell is running; its variables are left behind as chosen")
    if request.busy == "interrupt":
        await interrupt(manager, request.seconds)
    else:
        await until_idle(manager, request.seconds)


def _check(reports: list[dict[str, Any]]) -> None:
    for report in reports:
        if report["status"] in ("busy", "disk_full", "failed", "refused", "late"):
            where = report["path"] or report["kernel_id"]
            raise fail("save_failed", cause=f"{where}: {report['error']['text']}", kernel=report["kernel_id"])


def _who(kernel_id: str, manager: Any, sessions: list[SavedSession]) -> dict[str, Any]:
    path = next((s.path for s in sessions if s.kernel_id == kernel_id), "")
    return {"kernel_id": kernel_id, "path": path, "name": manager.kernel_name}
