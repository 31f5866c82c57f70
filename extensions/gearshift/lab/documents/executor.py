"""Runs cells for pages that may be gone: a queue for each kernel, held before a move and taken up after it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from gearshift.lab.documents.cell_costs import CellCosts
from gearshift.lab.documents.kernel_queue import KernelQueue
from gearshift.lab.documents.memory import Memory, Order
from gearshift.lab.documents.rooms import Rooms
from gearshift.model.errors import fail

log = logging.getLogger("gearshift.documents")

MOST_WAITING = 1_000
STAY_AFTER_S = 45.0
"""A server that was told to close its documents and then was not stopped opens them again by itself."""
TICK_S = 1.0


class Executor:
    """`server` is the Jupyter server, `folder` where what must outlive it is kept."""

    def __init__(self, server: Any, folder: Path, costs: CellCosts) -> None:
        self._kernels, self._memory = server.kernel_manager, Memory(folder)
        self.rooms, self._costs = Rooms(server, folder, self.is_run), costs
        self._queues: dict[str, KernelQueue] = {}
        self._later: tuple[Order, ...] = self._memory.read()
        self._go, self._here = asyncio.Event(), asyncio.Event()
        self._go.set()
        self._here.set()
        self._watch: asyncio.Task[None] | None = None

    def is_run(self, document: str, cell: str) -> bool:
        """Whether a cell (any, for an empty one) runs, waits, or will be run after a restore."""
        later = any(order.document == document and cell in ("", order.cell) for order in self._later)
        return later or any(queue.has(document, cell) for queue in self._queues.values())

    def submit(self, kernel: str, document: str, cells: list[tuple[str, str]]) -> None:
        """Cells with their code, in order. Refused whole: an unknown kernel or document, a queue that is full."""
        if kernel not in self._kernels:
            raise fail("not_found", field="kernel_id", value=kernel)
        if self.rooms.path(document) is None:
            raise fail("not_found", field="document_id", value=document)
        self._close_gone()
        queue = self._queue(kernel)
        if sum(1 for _ in queue.waiting) + len(cells) > MOST_WAITING:
            raise fail("too_large", field="cells", size=len(cells), limit=MOST_WAITING)
        queue.put([Order(kernel, document, cell, code) for cell, code in cells])

    def _close_gone(self) -> None:
        """Kernels that were shut down need no line any more."""
        for kernel in [one for one in self._queues if one not in self._kernels]:
            if self._queues[kernel].running is None:
                self._queues.pop(kernel).close()

    def answer(self, kernel: str, question: str, value: str) -> None:
        """To `input()`; `not_found` once it is answered, or its cell is over."""
        queue = self._queues.get(kernel)
        if queue is None or not queue.answer(question, value):
            raise fail("not_found", field="question", value=question)

    def _queue(self, kernel: str) -> KernelQueue:
        if kernel not in self._queues:
            manager = self._kernels.get_kernel(kernel)
            self._queues[kernel] = KernelQueue(
                manager, self.rooms, self._costs, self._go, self._here, self._remember
            )
        return self._queues[kernel]

    def _remember(self) -> None:
        """Also what is asked for when the documents are closed already: the next server runs it."""
        waiting = (order for queue in self._queues.values() for order in queue.waiting)
        self._memory.write((*self._later, *waiting))

    def hold(self) -> None:
        """No further cell is begun: a save of the kernels waits for those that run."""
        self._go.clear()

    def go_on(self) -> None:
        self._go.set()

    async def leave(self) -> None:
        """Before the server is stopped or paused: everything is in the files, and nobody writes any more."""
        self.hold()
        for queue in self._queues.values():
            await queue.settle()
        self._here.clear()
        for queue in self._queues.values():
            queue.show_moved()
        await self.rooms.close()
        if self._watch is None:
            self._watch = asyncio.create_task(self._stay_unless_stopped())

    async def stay(self) -> None:
        """The server was not stopped after all, or it was thawed. Asked for twice it is done once."""
        if self._watch is not None and self._watch is not asyncio.current_task():
            self._watch.cancel()
        self._watch = None
        if not self._here.is_set():
            self.rooms.closed = False
            for queue in self._queues.values():
                await queue.come_back()
            self._here.set()
            self._remember()
        self.go_on()

    async def _stay_unless_stopped(self) -> None:
        """Counted in turns of its own: time during which it was paused does not count."""
        for _ in range(int(STAY_AFTER_S / TICK_S)):
            await asyncio.sleep(TICK_S)
        log.warning("the server was told to stop and was not stopped: its documents are open again")
        await self.stay()

    def resume(self) -> None:
        """After a restore: what waited on the old server is run, on the kernels that came back."""
        for order in self._later:
            if order.kernel in self._kernels:
                self._queue(order.kernel).put([order])
        self._later = ()
        self._remember()

    def forget(self) -> None:
        """Nothing was restored: what waited is not run."""
        self._later = ()
        self._remember()
