"""The route by which control tells this server that it is on another machine now, and which kernels follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gearshift.lab.answering import signed_in
from gearshift.lab.control_door import ControlDoor
from gearshift.lab.machine import MachineNow, Size
from gearshift.lab.thread_pools import ThreadPools
from gearshift.model.errors import fail


class MachineHandler(ControlDoor):
    """GET: the machine as this server knows it. PUT {machine, cpus, memory_bytes, threads}: control says that it changed."""

    def initialize(self, machine: MachineNow, pools: ThreadPools) -> None:
        self.machine, self.pools = machine, pools

    @signed_in
    async def get(self) -> None:
        await self.finish(_told(self.machine.size))

    @signed_in
    async def put(self) -> None:
        if not self.by_control:
            raise fail("forbidden", role="Gearshift itself", role_zh="Gearshift 本身")
        size = _size(self.body())
        self.machine.change(size)
        self.pools.change(size.environment())
        followed = await self.pools.follow()
        await self.finish({**_told(size), "followed": followed})


def _told(size: Size) -> dict[str, Any]:
    return {
        "machine": size.machine,
        "cpus": size.cpus,
        "memory_bytes": size.memory_bytes,
        "threads": size.threads,
    }


def _size(body: Mapping[str, Any]) -> Size:
    """Refused whole with the field and what is allowed."""
    machine, cpus = body.get("machine"), _number(body, "cpus")
    memory, threads = _number(body, "memory_bytes"), _number(body, "threads")
    if not isinstance(machine, str) or not machine:
        raise fail("bad_request", field="machine", value=machine, allowed=["a machine's id"])
    return Size(machine, cpus, int(memory), int(threads))


def _number(body: Mapping[str, Any], field: str) -> float:
    found = body.get(field)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < 1 << 60:
        raise fail("bad_request", field=field, value=found, allowed=["a number above 0"])
    return float(found)
