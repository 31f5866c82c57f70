"""The servers inside the workspaces of control's tests: kernels, what they hold, and a disk of a known speed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.machine import Machine
from gearshift.model.units import from_iso
from gearshift_hub.control.servers import Names, ServerGoneError

from gearshift_testing.fakes import FakeHub, FakeTree, Faults


class FakeServers:
    """The servers inside workspaces: what kernels hold is saved by operation, and restored into the new tree.

    A `range` counts as so many bytes, and `bytes_per_second` lets time pass for them; a generator can be made again by
    cell 3 in two seconds."""

    def __init__(self, hub: FakeHub) -> None:
        self._hub = hub
        self.faults = Faults()
        self.saved: dict[str, dict[str, object]] = {}
        self.reruns: dict[str, Names] = {}
        """What was agreed to run again, by operation."""
        self.durable: dict[str, bool] = {}
        """Whether a save was to outlive a power cut, by operation."""
        self.bytes_per_second: float | None = None
        self.memory: dict[str, int | None] = {"ram_bytes": 10**9, "device_bytes": 0}
        self.executions = 1
        self.told: list[dict[str, Any]] = []
        """What a plan tells besides the variables that are there."""
        self.waited_seconds = 0.0
        """How long a save waits for a cell that runs."""
        self.failing: list[dict[str, Any]] = []
        """Reports of restores that bring nothing back, in the order of being asked."""
        self.on_disks: dict[tuple[str, str], dict[str, object]] = {}
        """What lies on a shared disk, by the disk's name and the state's."""
        self.doing: dict[str, object] = {}
        """What every workspace says it is busy with."""

    async def plan(self, owner: str, name: str, port: int, *, probe: bool = False) -> dict[str, Any]:
        await self.faults.pass_by("plan")
        tree = self._tree(port)
        variables = [*map(dict, self.told), *(_told(key, value) for key, value in tree.variables.items())]
        kernel = {"kernel_id": "k1", "path": "a.ipynb", "busy": False, "executions": self.executions}
        disk = {"save": self.bytes_per_second, "restore": self.bytes_per_second}
        return {
            "kernels": [{**kernel, "variables": variables}],
            "memory": self.memory,
            "disk": disk if probe and self.bytes_per_second else None,
        }

    async def stay(self, owner: str, name: str, port: int) -> None:
        await self.faults.pass_by("stay")
        self._tree(port)

    async def save(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        busy: str,
        leave_out: Names,
        rerun: Names = (),
        partly: bool = False,
        leaving: bool = False,
        durable: bool = True,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        await self.faults.pass_by("save")
        out = leave_out.get("k1", ()) if isinstance(leave_out, Mapping) else leave_out
        kept = {key: value for key, value in self._tree(port).variables.items() if key not in out}
        self.saved[operation], self.reruns[operation], self.durable[operation] = kept, rerun, durable
        variables = [_told(key, value) for key, value in kept.items()]
        kernel = {"kernel_id": "k1", "path": "a.ipynb", "name": "python3", "variables": variables}
        size = sum(one["bytes"] for one in variables)
        await self._pass_time(size)
        if self.waited_seconds:
            await self._hub.clock.sleep(self.waited_seconds)
        return {
            "variables": len(kept),
            "seconds": 0.1,
            "bytes": size,
            "waited_seconds": self.waited_seconds,
            "kernels": [kernel],
        }

    async def restore(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        state: str | None = None,
        check: bool = False,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        await self.faults.pass_by("restore")
        if self.failing:
            return self.failing.pop(0)
        saved = self.saved.get(state or operation)
        if saved is None:
            raise fail(
                "restore_failed", machine="this machine", cause="nothing was saved under this operation"
            )
        size = sum(_told(key, value)["bytes"] for key, value in saved.items())
        await self._pass_time(size)
        self._tree(port).variables |= saved
        return {"variables": len(saved), "bytes": size}

    async def look_at(self, owner: str, name: str, port: int, disk: str, state: str) -> dict[str, Any]:
        await self.faults.pass_by("look_at")
        self._tree(port)
        kernel = {"kernel_id": "k1", "path": "a.ipynb", "name": "python3"}
        lies = {"digest": digest_of(self.on_disks[disk, state]), "bytes": 8, "workspace": f"{owner}/{name}"}
        return {"disk": disk, "state": state, "kernels": [kernel], **lies}

    async def bring_in(
        self,
        owner: str,
        name: str,
        port: int,
        operation: str,
        *,
        disk: str,
        state: str,
        consent: Mapping[str, str],
    ) -> dict[str, Any]:
        await self.faults.pass_by("bring_in")
        self._tree(port)
        held = self.on_disks[disk, state]
        is_agreed = consent["user"] == owner and consent["digest"] == digest_of(held)
        if not is_agreed or self._hub.clock.now() >= from_iso(consent["expires_at"]):
            raise fail("state_refused", state=state, cause="it is not what you agreed to")
        self.saved[operation] = dict(held)
        await self.faults.pass_by("brought_in")
        variables = [_told(key, value) for key, value in held.items()]
        return {
            "kernels": [{"kernel_id": "k1", "path": "a.ipynb", "name": "python3", "variables": variables}]
        }

    async def activity(self, owner: str, name: str, port: int) -> dict[str, Any]:
        await self.faults.pass_by("activity")
        self._tree(port)
        return {"at": self._hub.clock.now().isoformat(), **self.doing}

    async def resize(self, owner: str, name: str, port: int, machine: Machine) -> dict[str, Any]:
        await self.faults.pass_by("resize")
        tree = self._tree(port)
        tree.plan = tree.plan.model_copy(update={"labels": {**tree.plan.labels, "machine": machine.id}})
        return {"followed": {"told": ["k1"], "later": []}}

    async def health(self, owner: str, name: str, port: int) -> dict[str, Any]:
        await self.faults.pass_by("health")
        self._tree(port)
        return {"ok": True, "kernels": []}

    async def _pass_time(self, size: int) -> None:
        if self.bytes_per_second:
            await self._hub.clock.sleep(size / self.bytes_per_second)

    def _tree(self, port: int) -> FakeTree:
        for tree in self._hub.running:
            if tree.port == port and not tree.frozen:
                return tree
        raise ServerGoneError("connection refused")


def digest_of(held: Mapping[str, object]) -> str:
    return hashlib.sha256(repr(sorted(held.items())).encode()).hexdigest()


def _told(name: str, value: object) -> dict[str, Any]:
    """A variable as a plan tells of it."""
    kind = {"name": name, "type": type(value).__name__}
    if isinstance(value, Iterator):
        return {**kind, "bytes": 0, "verdict": "rerun", "cells": [3], "seconds": 2.0}
    return {**kind, "bytes": len(value) if isinstance(value, range) else 8, "verdict": "copy"}
