"""The cells that wait for one kernel: run one after the other, dropped after an error, held before a move."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

from gearshift.lab.documents import shared_cell
from gearshift.lab.documents.cell_costs import CellCosts
from gearshift.lab.documents.kernel_line import KernelGoneError, KernelLine
from gearshift.lab.documents.memory import Order
from gearshift.lab.documents.plain_data import plain
from gearshift.lab.documents.rooms import MovingError, Rooms
from gearshift.lab.documents.run import CellRun
from gearshift.lab.documents.widget_states import WidgetStates
from gearshift.lab.documents.words import DIED, MOVED, RESTARTED

log = logging.getLogger("gearshift.documents")

SAVE_EVERY_S = 2.0
SETTLES_WITHIN_S = 3.0
LOOK_S = 0.02
STARTED_WITHIN_S = 30.0
START_LOOK_S = 0.1
LATE_RUNS = 50
"""Cells that have ended and may still print: threads go on."""
DISPLAYS = 1_000

Message = dict[str, Any]
Place = tuple[CellRun, int]


class KernelQueue:
    """`go` is set unless the queue is held; `here` unless the documents are closed for a move."""

    def __init__(
        self,
        manager: Any,
        rooms: Rooms,
        costs: CellCosts,
        go: asyncio.Event,
        here: asyncio.Event,
        changed: Callable[[], None],
    ) -> None:
        self._manager, self._rooms, self._go, self._here = manager, rooms, go, here
        self._costs, self._tell = costs, changed
        self._waiting: deque[CellRun] = deque()
        self.running: CellRun | None = None
        self._runs: OrderedDict[str, CellRun] = OrderedDict()
        self._displays: OrderedDict[str, list[Place]] = OrderedDict()
        self._widgets = WidgetStates()
        self._line: KernelLine | None = None
        self._worker: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> Iterator[Order]:
        return (run.order for run in self._waiting)

    def has(self, document: str, cell: str) -> bool:
        """Whether it runs or waits here; an empty cell stands for any."""
        runs = [*self._waiting, *([self.running] if self.running is not None else [])]
        return any(run.order.document == document and cell in ("", run.order.cell) for run in runs)

    def put(self, orders: list[Order]) -> None:
        """At the end of the queue, together; what is in it already is not run twice."""
        for order in orders:
            if not any(
                run.order.cell == order.cell and run.order.document == order.document for run in self._waiting
            ):
                run = CellRun(order, self._rooms, self._here)
                self._waiting.append(run)
                if self._here.is_set() and not self._is_running(order):
                    run.show(shared_cell.queued)
        self._tell()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    def _is_running(self, order: Order) -> bool:
        return self.running is not None and self.running.order.cell == order.cell

    def answer(self, question: str, value: str) -> bool:
        """To the `input()` of the running cell; False when that is no longer asked."""
        run = self.running
        if run is None or run.question is None or run.question["id"] != question or self._line is None:
            return False
        self._line.answer(value)
        run.answered(value)
        return True

    async def _work(self) -> None:
        while self._waiting:
            await self._go.wait()
            await self._here.wait()
            if not self._waiting:
                break
            run = self._waiting[0]
            try:
                await self._next(run)
            except MovingError:
                continue
            except Exception:  # said once; the queue is dropped as after any error
                log.exception("a cell could not be run")
                self.drop()
            self.running = None
            self._tell()
            if not self.has(run.order.document, ""):
                self._letting_go = self._rooms.let_go(run.order.document)

    async def _next(self, run: CellRun) -> None:
        """Between the last look whether it may begin and its code being sent is no pause: a cell that began while its
        kernel is being saved would be lost with it."""
        gone = None
        await self._rooms.open(run.order.document)
        is_there = await run.arrived()
        try:
            line = await self._opened_line()
        except KernelGoneError as error:
            gone = error
        if (
            not self._go.is_set()
            or not self._here.is_set()
            or not self._waiting
            or self._waiting[0] is not run
        ):
            return
        self._waiting.popleft()
        self.running = run
        if not is_there:
            log.warning("a cell that was to be run is not in its document")
        elif gone is not None:
            self._is_gone(run, gone)
        elif not run.order.code.strip():
            run.show(shared_cell.ended, None, {})
        else:
            self._begin(run, line)
            await self._run(run, line)

    def _begin(self, run: CellRun, line: KernelLine) -> None:
        self._forget(run.order)
        run.outputs.clear(wait=False)
        run.show(shared_cell.started)
        run.write()
        run.request = line.send(run.order.code)
        self._remember(run)
        self._tell()

    def drop(self) -> None:
        """What waits is not run: as after an error in a notebook."""
        for run in self._waiting:
            run.show(shared_cell.ended, None, {})
        self._waiting.clear()
        self._tell()

    async def _run(self, run: CellRun, line: KernelLine) -> None:
        tasks = [asyncio.create_task(run.write_on()), asyncio.create_task(self._save_on(run.order.document))]
        try:
            await self._run_in_kernel(run, line)
            self._costs.ended(run)
        finally:
            for task in tasks:
                task.cancel()
            await self._here.wait()
            await self._save(run.order.document)

    async def _run_in_kernel(self, run: CellRun, line: KernelLine) -> None:
        """What waits is dropped in the same instant as an error is shown: what is sent after that is run."""
        assert run.request is not None
        try:
            reply = await line.ended(run.request)
        except KernelGoneError as gone:
            await self._here.wait()
            self._is_gone(run, gone)
            return
        run.replied(reply)
        await self._here.wait()
        content = reply["content"]
        if run.outputs.is_large:
            self._forget(run.order)
        if content["status"] != "ok" and not self._was_interrupted_by_a_move(content):
            self.drop()
        run.end(content.get("execution_count", run.count))

    def _is_gone(self, run: CellRun, gone: KernelGoneError) -> None:
        self._close_line()
        self.drop()
        run.cut(RESTARTED if gone.restarted else DIED)

    def _was_interrupted_by_a_move(self, content: dict[str, Any]) -> bool:
        """What waits then is run on the new machine."""
        return not self._go.is_set() and content.get("ename") == "KeyboardInterrupt"

    async def _opened_line(self) -> KernelLine:
        """A kernel that died a moment ago is being started again."""
        deadline = asyncio.get_running_loop().time() + STARTED_WITHIN_S
        while self._line is None or not self._line.is_good:
            self._close_line()
            self._line = KernelLine(self._manager, self._hear, self._asked)
            try:
                await self._line.open()
            except KernelGoneError:
                self._close_line()
                if self._manager.execution_state == "dead" or asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(START_LOOK_S)
        return self._line

    def _close_line(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None
        self._widgets = WidgetStates()

    def _remember(self, run: CellRun) -> None:
        assert run.request is not None
        self._runs[run.request] = run
        while len(self._runs) > LATE_RUNS:
            self._runs.popitem(last=False)

    def _hear(self, message: Message) -> None:
        """Of this kernel: what our cells say, and displays and widgets whoever changes them."""
        kind = message["msg_type"]
        if kind.startswith("comm_"):
            self._widgets.hear(message)
            return
        display = message["content"].get("transient", {}).get("display_id")
        if display is not None and kind in ("display_data", "execute_result", "update_display_data"):
            self._update(display, message["content"])
        run = self._runs.get(message["parent_header"].get("msg_id", ""))
        if run is None or kind == "update_display_data":
            return
        run.hear(message)
        if display is not None:
            self._displays.setdefault(display, []).append((run, len(run.outputs) - 1))
            self._displays.move_to_end(display)
            while len(self._displays) > DISPLAYS:
                self._displays.popitem(last=False)
        if run.is_over and self._here.is_set():
            run.write()

    def _update(self, display: str, content: dict[str, Any]) -> None:
        for run, place in self._displays.get(display, []):
            run.replace(place, content)
            if run.is_over and self._here.is_set():
                run.write()

    def _forget(self, order: Order) -> None:
        """A cell that is run again shows new displays; one that printed much is not kept for what its threads may say."""
        for display, places in list(self._displays.items()):
            rest = [(run, at) for run, at in places if run.order.cell != order.cell]
            if rest:
                self._displays[display] = rest
            else:
                del self._displays[display]
        for request, run in list(self._runs.items()):
            if run.order.cell == order.cell and run.order.document == order.document:
                del self._runs[request]

    def _asked(self, message: Message) -> None:
        run = self._runs.get(message["parent_header"].get("msg_id", ""))
        if run is not None and message["msg_type"] == "input_request":
            run.ask(message)

    async def _save_on(self, document: str) -> None:
        """While a cell runs: a save that waits for silence would wait for its end."""
        while True:
            await asyncio.sleep(SAVE_EVERY_S)
            await self._here.wait()
            self._rooms.hold(document)
            await self._save(document)

    async def _save(self, document: str) -> None:
        if self._widgets.changed and self._rooms.cells(document) is not None:
            self._widgets.changed = False
            with self._rooms.transaction(document):
                self._rooms.metadata(document)["widgets"] = plain(self._widgets.for_file())
        await self._rooms.save(document)

    async def settle(self) -> None:
        """A cell whose kernel is idle has ended: what it said last is still on its way to the document."""
        deadline = asyncio.get_running_loop().time() + SETTLES_WITHIN_S
        while self.running is not None and not self.running.is_over:
            if self._manager.execution_state == "busy" or asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(LOOK_S)

    def show_moved(self) -> None:
        """Before the documents are closed: the running cell is shown as interrupted; if it runs on, it is shown again."""
        if self.running is not None and not self.running.is_over:
            self.running.write()
            self.running.show(shared_cell.cut_short, *MOVED)

    async def come_back(self) -> None:
        """The server was not stopped, or was thawed: what ran, runs."""
        run = self.running
        if run is not None and not run.is_over:
            await self._rooms.open(run.order.document)
            run.write_again()

    def close(self) -> None:
        """The kernel is gone for good."""
        self._close_line()
