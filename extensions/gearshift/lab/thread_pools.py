"""Kernels that run learn of another machine: idle ones at once, busy ones when their cell has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from gearshift.lab.kernel_call import KernelError, ask, check_kind

ASK_S = 5.0
LOOK_S = 0.2
LOOK_S = 0.2


class ThreadPools:
    """Whoever has not been told yet is kept here; kernels that start later are born with it."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._waiting: dict[str, dict[str, str]] = {}
        self._later: asyncio.Task[None] | None = None

    def change(self, environment: dict[str, str]) -> None:
        """All kernels that run now are to follow."""
        kernels = self._server.kernel_manager
        self._waiting = dict.fromkeys(kernels.list_kernel_ids(), environment)

    async def follow(self) -> dict[str, list[str]]:
        """Tell those that are idle; who was told, and who is told later."""
        told = await self._tell_idle()
        if self._waiting and (self._later is None or self._later.done()):
            self._later = asyncio.create_task(self._tell_the_rest())
        return {"told": told, "later": list(self._waiting)}

    async def _tell_the_rest(self) -> None:
        while self._waiting:
            await asyncio.sleep(LOOK_S)
            await self._tell_idle()

    async def _tell_idle(self) -> list[str]:
        kernels = self._server.kernel_manager
        idle = [one for one in self._waiting if _state(kernels, one) == "idle"]
        told = await asyncio.gather(*(self._tell(kernels.get_kernel(one), one) for one in idle))
        for one in [one for one in self._waiting if one not in kernels]:
            del self._waiting[one]
        return [one for one, done in zip(idle, told, strict=True) if done]

    async def _tell(self, manager: Any, kernel_id: str) -> bool:
        """One that began a cell meanwhile is told after it; one that cannot follow is left as it is."""
        environment = self._waiting[kernel_id]
        try:
            check_kind(manager)
            await ask(manager, {"do": "threads", "environment": environment}, self._folder, ASK_S)
        except KernelError as error:
            if error.code in ("busy", "late"):
                return False
        if self._waiting.get(kernel_id) is environment:
            del self._waiting[kernel_id]
        return True

    @property
    def _folder(self) -> Path:
        return Path(self._server.runtime_dir)


def _state(kernels: Any, kernel_id: str) -> str | None:
    return getattr(kernels.get_kernel(kernel_id), "execution_state", None) if kernel_id in kernels else None
