"""The shared documents of this server. What is private of jupyter_server_ydoc is used here, in `opening` and in `routes`.

While pages are sent away for a move nothing is lost: what came in before is kept by the store in the same instant, what
comes in after is not taken, and the page brings it when it is back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pycrdt import Array

from gearshift.lab.documents import shared_cell
from gearshift.lab.documents.opening import Opening
from gearshift.lab.documents.words import STOPPED

log = logging.getLogger("gearshift.documents")

EXTENSION = "jupyter_server_ydoc"
SERVICE_RESTART = 1012
"""Close code after which a page comes back by itself."""
KEPT_S = 60.0
"""A document that no page has open any more is let go after this, as jupyter_server_ydoc does."""


class MovingError(Exception):
    """No document is opened while the server moves."""


class _Clients(set[Any]):
    """Of a room whose pages were sent away: each takes itself out once more when its socket is closed, and a KeyError
    there would end the service of all rooms."""

    def remove(self, client: Any) -> None:
        self.discard(client)


class Rooms:
    """`is_run(document, cell)` says whether a cell is running or waiting to; `sockets` are the pages that are in, or
    on their way in."""

    def __init__(self, server: Any, folder: Path, is_run: Callable[[str, str], bool]) -> None:
        self._server, self._is_run = server, is_run
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._opening = Opening(server, folder)
        self.closed = False
        self.sockets: set[Any] = set()

    @property
    def extension(self) -> Any:
        """The other extension; it is loaded after ours."""
        return next(iter(self._server.extension_manager.extension_apps[EXTENSION]))

    def path(self, document: str) -> str | None:
        """The file of a document, None for what is no document of this server."""
        parts = document.split(":", 2)
        if len(parts) != 3 or parts[:2] != ["json", "notebook"]:
            return None
        path: str | None = self._server.web_app.settings["file_id_manager"].get_path(parts[2])
        return path

    async def open(self, document: str) -> Any:
        """The room, ready: made where there is none. It stays until a page has left it, or `let_go`."""
        async with self._locks[document]:
            async with self.extension._room_locks[document]:
                room = self._found(document)
                if room is not None and room.cleaner is not None:
                    room.cleaner.cancel()
            if self.closed:
                raise MovingError(document)
            if room is None or not room.ready:
                room = await self._made(document, room)
            return room

    async def _made(self, document: str, room: Any) -> Any:
        """Nobody edits a document before it is whole and kept: both follow its first reading without a pause."""
        extension, file_id = self.extension, document.split(":", 2)[2]
        with self._opening.reading(document, extension.file_loaders[file_id]) as opened:
            if room is None:
                await extension.get_document(room_id=document, copy=False, create=True)
                room = self._found(document)
            async with extension._room_locks[document]:
                await room.initialize()  # unless it is
            async with room._update_lock:  # what is changed here is no reason to save
                room.ystore.follow(room.ydoc)
                is_marked = self._mark_all(document, room)
                self._opening.done(opened, room, lambda: self._found(document) is room)
        if opened.file_is_behind or is_marked:
            await self.save(document)
        return room

    def _found(self, document: str) -> Any:
        return self.extension.ywebsocket_server.rooms.get(document)

    def _mark_all(self, document: str, room: Any) -> bool:
        """Cells that ran when the last server ended are not running now; whether there were any."""
        cells = getattr(room._document, "ycells", None)
        if cells is None:
            return False
        with room.ydoc.transaction():
            marked = [self._mark(document, cells[place]) for place in range(len(cells))]
        return any(marked)

    def _mark(self, document: str, cell: Any) -> bool:
        if cell.get("cell_type") != "code" or self._is_run(document, cell["id"]):
            return False
        if cell.get("execution_state") == shared_cell.RUNNING:
            shared_cell.cut_short(cell, *STOPPED)
            return True
        return shared_cell.asked_nothing(cell)

    def cells(self, document: str) -> Array | None:
        """Of a room that is open."""
        room = self._found(document)
        return room._document.ycells if room is not None and room.ready else None

    def transaction(self, document: str) -> Any:
        return self._found(document).ydoc.transaction()

    def metadata(self, document: str) -> Any:
        """The notebook's own."""
        return self._found(document)._document._ymeta["metadata"]

    async def save(self, document: str) -> bool:
        """Into its file, now; whether it is there."""
        room = self._found(document)
        if room is None:
            return True
        await _cancelled(room._saving_document)
        try:
            content = await room._document.aget()
            model = {"format": room.file_format, "type": room.file_type, "content": content}
            # On its own: it lets nobody cancel it, and takes the wish to do so for done.
            saving = asyncio.create_task(room._file.maybe_save_content(model))
            await asyncio.wait({saving})
            saved = saving.result()
        except Exception as error:
            if type(error).__name__ == "OutOfBandChanges":
                await room._on_outofband_change()
                return True
            log.warning("%s was not saved: %s", document, error)
            return False
        if room.ystore.is_long:
            await room.ystore.encode_state_as_update(room.ydoc)
        return saved is not None

    def hold(self, document: str) -> None:
        """Keep a document that no page has open: called again and again while its cells run."""
        room = self._found(document)
        if room is not None and room.cleaner is not None:
            room.cleaner.cancel()

    def let_go(self, document: str) -> asyncio.Task[None]:
        """No cell of it runs any more: after a while, if nobody has opened it, it leaves the memory."""

        async def later() -> None:
            await asyncio.sleep(KEPT_S)
            room = self._found(document)
            if room is not None and not room.clients and not self._is_run(document, ""):
                await self._drop(document)

        return asyncio.create_task(later())

    async def close(self) -> None:
        """Before the server stops: no page comes in, those that are in go, everything is in its file. Pages try again
        until somebody answers them, and bring what was typed meanwhile."""
        self.closed = True
        rooms = self.extension.ywebsocket_server.rooms
        for room in rooms.values():
            room.clients = _Clients()
        for socket in list(self.sockets):
            socket.close(SERVICE_RESTART, "the server moves")
        for lock in list(self._locks.values()):
            async with lock:  # one that was being opened is open now, and no other will be
                pass
        for name in [name for name, room in rooms.items() if hasattr(room, "_save_to_disc")]:
            if not await self.save(name):
                log.warning("%s was not saved before the stop", name)
            await self._drop(name)

    async def _drop(self, document: str) -> None:
        async with self._locks[document], self.extension._room_locks[document]:
            room = self._found(document)
            if room is None:
                return
            if room.cleaner is not None:
                room.cleaner.cancel()
            await self.extension.ywebsocket_server.delete_room(room=room)
            loaders, file_id = self.extension.file_loaders, document.split(":", 2)[2]
            if file_id in loaders and loaders[file_id].number_of_subscriptions == 0:
                await loaders.remove(file_id)


async def _cancelled(task: asyncio.Task[None] | None) -> None:
    """A save that waits for silence: what it would save may be older than what is saved now."""
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task})
