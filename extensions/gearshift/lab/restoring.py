"""Brings kernels and sessions back under their old ids with their variables, once per operation, before pages see them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from gearshift.lab import kept, manifest
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.gate import Gate
from gearshift.lab.kernel_call import KernelError, ask
from gearshift.lab.manifest import Manifest, SavedKernel, SavedSession

LOAD_S = 600.0
RERUN_SHARE = 0.8
"""How much of the time cells that run again may take: what was copied is kept whatever becomes of them."""
TOGETHER = 4
"""Kernels that are started and loaded at the same time."""


class Restorer:
    """A restore asked for twice is one restore: the second caller gets the report of the first."""

    def __init__(self, server: Any, environment: LabEnvironment, gate: Gate) -> None:
        self._server, self._environment, self._gate = server, environment, gate
        self._running: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self.done: str | None = None

    async def restore(
        self, operation: str, seconds: float = LOAD_S, *, state: str | None = None, check: bool = False
    ) -> dict[str, Any]:
        """The report; GearshiftError when nothing could be restored, and the next call tries again.

        `state` is what was saved under another operation than this one; with `check` every byte of it is verified
        before anything is touched.
        """
        task = self._running.get(operation)
        if task is None or (task.done() and task.exception() is not None):
            work = self._restore(operation, seconds, state or operation, check)
            task = self._running[operation] = asyncio.create_task(work)
        return await asyncio.shield(task)

    async def _restore(self, operation: str, seconds: float, state: str, check: bool) -> dict[str, Any]:
        started = time.perf_counter()
        with self._gate.closed():
            folder = manifest.folder_of(self._environment.state_dir, state)
            environment = self._environment
            saved = await kept.verify(environment, state) if check else kept.trusted(environment, state)
            turns = asyncio.Semaphore(TOGETHER)
            reports = await asyncio.gather(*(self._one(k, saved, turns, seconds) for k in saved.kernels))
            report = {
                "operation": operation,
                "state": state,
                "ok": all(r["status"] in ("restored", "empty") for r in reports),
                "seconds": time.perf_counter() - started,
                "bytes": sum(r.get("bytes") or 0 for r in reports),
                "kernels": list(reports),
            }
            manifest.write_json(folder / "restore.json", report)
            self.done = operation
        return report

    async def _one(
        self, kernel: SavedKernel, saved: Manifest, turns: asyncio.Semaphore, seconds: float
    ) -> dict[str, Any]:
        sessions = [s for s in saved.sessions if s.kernel_id == kernel.id]
        path = sessions[0].path if sessions else ""
        found: dict[str, Any] = {
            "kernel_id": kernel.id,
            "path": path,
            "name": kernel.spec,
            "variables": [],
            "error": None,
        }
        async with turns:
            try:
                manager = await self._start(kernel, sessions)
                if kernel.file is None:
                    return {**found, "status": "empty"}
                file = manifest.folder_of(self._environment.state_dir, saved.operation) / kernel.file
                what = {
                    "do": "load",
                    "path": str(file),
                    "key_folder": str(self._environment.state_dir),
                    "rerun": kernel.rerun,
                    "rerun_seconds": seconds * RERUN_SHARE,
                }
                report = await ask(manager, what, self._folder, seconds)
            except KernelError as error:
                return {**found, "status": "failed", "error": {"code": error.code, "text": error.text}}
        return {**found, **report, "status": "restored"}

    async def _start(self, kernel: SavedKernel, sessions: list[SavedSession]) -> Any:
        """The kernel under its old id, each of its sessions under its own; what is there already is left alone."""
        kernels, rows = self._server.kernel_manager, self._server.session_manager
        try:
            if kernel.id not in kernels:
                if sessions:
                    first = sessions[0]
                    await rows.start_kernel_for_session(
                        first.id, first.path, first.name, first.type, kernel.spec, kernel_id=kernel.id
                    )
                else:
                    await kernels.start_kernel(kernel_name=kernel.spec, kernel_id=kernel.id)
            known = {row["id"] for row in await rows.list_sessions()}
            for session in sessions:
                if session.id not in known:
                    await rows.save_session(
                        session.id,
                        path=session.path,
                        name=session.name,
                        type=session.type,
                        kernel_id=kernel.id,
                    )
        except (
            Exception
        ) as error:  # a kernel spec that is gone, a folder that is gone: told, and the others go on
            raise KernelError("not_started", f"{type(error).__name__}: {error}") from error
        return kernels.get_kernel(kernel.id)

    @property
    def _folder(self) -> Any:
        return self._server.runtime_dir
