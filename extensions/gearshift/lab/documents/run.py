"""One cell that is run: from the queue to its end, writing what its kernel says into the shared document."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from jupyter_client.jsonutil import parse_date

from gearshift.lab.documents import shared_cell
from gearshift.lab.documents.memory import Order
from gearshift.lab.documents.outputs import CellOutputs
from gearshift.lab.documents.rooms import Rooms
from gearshift.lab.documents.words import Cut

log = logging.getLogger("gearshift.documents")

TOGETHER_S = 0.05
"""What a kernel says within this becomes one change of the document."""
ARRIVES_WITHIN_S = 30.0
LOOK_S = 0.02

Message = dict[str, Any]


class CellRun:
    """`request` is the kernel's name of it, once it was sent."""

    def __init__(self, order: Order, rooms: Rooms, here: asyncio.Event) -> None:
        self.order, self._rooms, self._here = order, rooms, here
        self.request: str | None = None
        self.outputs = CellOutputs()
        self.question: Message | None = None
        self.timing: dict[str, str] = {}
        self.count: int | None = None
        self.is_over = False
        self._changed = asyncio.Event()
        self._place = 0

    @property
    def cell(self) -> Any:
        """The shared cell, None when a person deleted it or the document is not open here."""
        cells = self._rooms.cells(self.order.document)
        found = None if cells is None else shared_cell.find(cells, self.order.cell, self._place)
        if found is None:
            return None
        self._place, cell = found
        return cell

    async def arrived(self) -> bool:
        """A cell that was just made may come later than the wish to run it: another connection brings it."""
        deadline = asyncio.get_running_loop().time() + ARRIVES_WITHIN_S
        while self.cell is None:
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(LOOK_S)
        return True

    def show(self, change: Any, *given: Any) -> None:
        """One change of the cell, if it is there."""
        cell = self.cell
        if cell is not None:
            with self._rooms.transaction(self.order.document):
                change(cell, *given)

    def hear(self, message: Message) -> None:
        """What the kernel says about this cell."""
        kind, content = message["msg_type"], message["content"]
        if kind == "status":
            self.timing[f"iopub.status.{content['execution_state']}"] = _when(message)
            return
        if kind == "execute_input":
            self.count = content["execution_count"]
            self.timing[shared_cell.BEGIN] = _when(message)
            if self._here.is_set():
                self.show(shared_cell.begun, self.timing)
            return
        if kind == "stream":
            self.outputs.print(content["name"], content["text"])
        elif kind == "clear_output":
            self.outputs.clear(bool(content.get("wait")))
        elif kind in ("display_data", "execute_result"):
            keys = ("data", "metadata", *(("execution_count",) if kind == "execute_result" else ()))
            self.outputs.add({"output_type": kind, **{key: content[key] for key in keys}})
        elif kind == "error":
            keys = ("ename", "evalue", "traceback")
            self.outputs.add({"output_type": kind, **{key: content[key] for key in keys}})
        self._changed.set()

    def replied(self, message: Message) -> None:
        """The kernel has ended it; what it printed may still come."""
        self.timing["shell.execute_reply"] = _when(message)
        started = message["metadata"].get("started")
        if started is not None:
            self.timing["shell.execute_reply.started"] = _iso(started)

    @property
    def span(self) -> tuple[str, str] | None:
        """When the kernel began it and when it ended, or was gone; None for one that it never began."""
        begin = self.timing.get(shared_cell.BEGIN)
        return None if begin is None else (begin, self.timing.get("shell.execute_reply", _iso(None)))

    def replace(self, place: int, content: dict[str, Any]) -> None:
        self.outputs.replace(place, content["data"], content["metadata"])
        self._changed.set()

    def ask(self, message: Message) -> None:
        """The code waits for `input()`."""
        content = message["content"]
        self.question = {
            "id": uuid4().hex,
            "prompt": content["prompt"],
            "password": bool(content["password"]),
        }
        if self._here.is_set():
            self.show(shared_cell.ask, self.question)

    def answered(self, value: str) -> None:
        """The answer becomes part of what was printed, as in a terminal; a password does not."""
        assert self.question is not None
        shown = "········" if self.question["password"] else value
        self.outputs.print("stdout", f"{self.question['prompt']}{shown}\n")
        self.question = None
        if self._here.is_set():
            self.show(shared_cell.asked_nothing)
        self._changed.set()

    async def write_on(self) -> None:
        """Until it is cancelled: gathers for a moment, then writes."""
        while True:
            await self._changed.wait()
            await self._here.wait()
            self._changed.clear()
            self.write()
            await asyncio.sleep(TOGETHER_S)

    def write(self) -> None:
        cell = self.cell
        if cell is None:
            return
        with self._rooms.transaction(self.order.document):
            self.outputs.write_to(cell["outputs"])

    def write_again(self) -> None:
        """The document was opened anew while the cell ran on."""
        self.outputs.write_again()
        self.show(shared_cell.queued)
        self.write()
        if self.question is not None:
            self.show(shared_cell.ask, self.question)

    def end(self, count: int | None) -> None:
        self.is_over = True
        self.write()
        self.show(shared_cell.ended, count, self.timing)

    def cut(self, cut: Cut) -> None:
        """It did not come to its end."""
        self.outputs.add(
            {
                "output_type": "error",
                "ename": cut.name,
                "evalue": cut.why,
                "traceback": [f"{cut.name}: {cut.why}"],
            }
        )
        self.end(None)


def _when(message: Message) -> str:
    return _iso(message["header"].get("date"))


def _iso(date: Any) -> str:
    found = parse_date(date) if isinstance(date, str) else date
    if not isinstance(found, datetime):
        found = datetime.now(UTC)
    return found.astimezone(UTC).isoformat().replace("+00:00", "Z")
