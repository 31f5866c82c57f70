"""The routes by which a page has cells run, answers `input()`, and reaches the rooms of shared documents."""

from __future__ import annotations

from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.web import HTTPError

from gearshift.lab.answering import Answering, signed_in
from gearshift.lab.control_door import ControlDoor
from gearshift.lab.documents.executor import Executor
from gearshift.lab.documents.rooms import SERVICE_RESTART, MovingError
from gearshift.lab.gate import Gate
from gearshift.model.errors import fail

LARGEST_ORDER = 16 << 20


class ExecuteHandler(Answering):
    """POST {kernel_id, document_id, cells: [{id, code}]}: accepted at once; the document tells the rest."""

    def initialize(self, executor: Executor, gate: Gate) -> None:
        self.executor, self.gate = executor, gate

    @signed_in
    async def post(self) -> None:
        await self.gate.passed()
        body = self.body(LARGEST_ORDER)
        cells = body.get("cells")
        if not isinstance(cells, list) or not cells or not all(_is_cell(cell) for cell in cells):
            raise fail("bad_request", field="cells", value=str(cells)[:80], allowed=["a list of {id, code}"])
        orders = [(cell["id"], cell["code"]) for cell in cells]
        self.executor.submit(_text(body, "kernel_id"), _text(body, "document_id"), orders)
        self.set_status(202)
        await self.finish({"accepted": len(orders)})


class AnswerHandler(Answering):
    """POST {kernel_id, question, value}: what a person typed."""

    def initialize(self, executor: Executor) -> None:
        self.executor = executor

    @signed_in
    async def post(self) -> None:
        body = self.body()
        self.executor.answer(_text(body, "kernel_id"), _text(body, "question"), _text(body, "value"))
        self.set_status(204)
        await self.finish()


class StayHandler(ControlDoor):
    """POST: the server is not stopped after all."""

    def initialize(self, executor: Executor) -> None:
        self.executor = executor

    @signed_in
    async def post(self) -> None:
        await self.executor.stay()
        await self.finish({"ok": True})


def room_route(executor: Executor) -> tuple[str, type, dict[str, Any]]:
    """In the place of jupyter_server_ydoc's own: rooms are opened by us, refused while the server moves, and no other
    site may connect. Made when the server starts: that package must not be imported before."""
    from jupyter_server_ydoc.handlers import YDocWebSocketHandler  # noqa: PLC0415 - see above

    class Room(YDocWebSocketHandler):  # type: ignore[misc]
        def initialize(self, executor: Executor) -> None:
            self._rooms = executor.rooms
            given = next(
                found[2] for found in self._rooms.extension.handlers if found[1] is YDocWebSocketHandler
            )
            super().initialize(**given)

        def check_origin(self, origin: str | None = None) -> bool:
            return bool(WebSocketMixin.check_origin(self, origin))

        async def prepare(self) -> None:
            """Only for a person who may come in. We open the room: the handler would warn of a second view."""
            if self._rooms.closed:
                raise HTTPError(503, "the server moves")
            await ensure_async(JupyterHandler.prepare(self))
            if self.current_user is None:
                raise HTTPError(403)
            await self._opened(self.request.path.rsplit("/", 1)[-1])
            if self._rooms.closed:
                raise HTTPError(503, "the server moves")
            await ensure_async(super().prepare())

        async def open(self, room_id: str) -> None:
            self._rooms.sockets.add(self)
            room = await self._opened(self._room_id)
            if room is not None:
                self.room = room
            if self._rooms.closed:
                self.close(SERVICE_RESTART, "the server moves")
            else:
                await super().open(room_id)

        async def _opened(self, document: str) -> Any:
            """The room, if it is a file's. What is wrong with the file is said by the handler, which tries again."""
            if document.count(":") != 2:
                return None
            try:
                return await self._rooms.open(document)
            except MovingError:
                return None
            except Exception as error:
                self.log.warning("%s was not opened: %r", document, error)
                return None

        def on_message(self, message: bytes) -> Any:
            """What comes in while pages are sent away would miss the file; a page brings it again when it is back."""
            return None if self._rooms.closed else super().on_message(message)

        def on_close(self) -> None:
            self._rooms.sockets.discard(self)
            super().on_close()

    return (r"api/collaboration/room/(.*)", Room, {"executor": executor})


def _is_cell(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("id"), str) and isinstance(found.get("code"), str)


def _text(body: dict[str, Any], field: str) -> str:
    value = body.get(field)
    if not isinstance(value, str):
        raise fail("bad_request", field=field, value=value, allowed=["a text"])
    return value
