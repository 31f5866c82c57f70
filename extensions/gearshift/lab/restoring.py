"""Brings kernels and sessions back under their old ids with their variables, once per operation, before pages see them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from gearshift.lab import kept, manifest
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.gate import Gate
from gearshift.lab.kernel_call import KernelError, ask, left_until, started_again
from gearshift.lab.manifest import Manifest, SavedKernel, SavedSession
from gearshift.model.errors import fail

LOAD_S = 600.0
RERUN_SHARE = 0.8
"""How much of the time cells that run again may take: what was copied is kept whatever becomes of them."""
AGAIN_S = 60.0
"""How long Jupyter may take to notice a dead kernel and to start another."""
TOGETHER = 4
"""Kernels that are started and loaded at the same time."""


class Restorer:
    """A restore asked for twice is one restore: the second caller gets the report of the first."""

    def __init__(self, server: Any, environment: LabEnvironment, gate: Gate) -> None:
        self._server, self._environment, self._gate = server, environment, gate
        self._running: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._at_work: set[str] = set()
        """The notebooks whose kernels are being given their variables."""
        self.done: str | None = None

    async def restore(
        self, operation: str, seconds: float = LOAD_S, *, state: str | None = None, check: bool = False
    ) -> dict[str, Any]:
        """The report; GearshiftError when nothing could be restored, and the next call tries again.

        `state` is what was saved under another operation than this one; with `check` every byte of it is verified
        before anything is touched.
        """
        end = time.monotonic() + seconds
        task = self._running.get(operation)
        if task is None or (task.done() and task.exception() is not None):
            work = self._restore(operation, seconds, state or operation, check)
            task = self._running[operation] = asyncio.create_task(work)
        try:
            return await asyncio.wait_for(asyncio.shield(task), left_until(end))
        except TimeoutError as error:
            late = ", ".join(sorted(self._at_work)) or "its kernels"
            cause = f"{late}: not there again within {seconds:g} s"
            raise fail("restore_failed", machine="this machine", cause=cause) from error

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
            with suppress(OSError):  # the report is answered all the same
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
        async with turns, self._working(path or kernel.id):
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
                report = await self._load(manager, what, seconds)
            except KernelError as error:
                return {**found, "status": "failed", "error": {"code": error.code, "text": error.text}}
        return {**found, **report, "status": "restored"}

    async def _load(self, manager: Any, what: dict[str, Any], seconds: float) -> dict[str, Any]:
        """A kernel that is killed meanwhile is started again by Jupyter, and asked once more."""
        pid = manager.provisioner.pid
        try:
            return await ask(manager, what, self._folder, seconds)
        except KernelError as error:
            if error.code != "dead":
                raise
        await started_again(manager, pid, AGAIN_S)
        return await ask(manager, what, self._folder, seconds)

    @asynccontextmanager
    async def _working(self, notebook: str) -> AsyncIterator[None]:
        self._at_work.add(notebook)
        try:
            yield
        finally:
            self._at_work.discard(notebook)

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
