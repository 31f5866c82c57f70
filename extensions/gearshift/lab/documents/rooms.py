"""The shared documents of this server. All that is private of jupyter_server_ydoc is used here and nowhere else.

Rooms are opened whole: what the update store knows more than the file goes into the file first, and cells that nobody
runs any more are marked. jupyter_server_ydoc is imported when it is needed: what it draws at import is one per process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pycrdt import Array
from tornado.web import HTTPError

from gearshift.lab.documents import shared_cell
from gearshift.lab.documents.store import stored_document
from gearshift.lab.documents.words import STOPPED

log = logging.getLogger("gearshift.documents")

EXTENSION = "jupyter_server_ydoc"
SERVICE_RESTART = 1012
"""Close code after which a page comes back by itself."""
SAVE_WITHIN_S = 10.0
STORED_WITHIN_S = 1.0
LOCKED_S = 0.02
KEPT_S = 60.0
"""A document that no page has open any more is let go after this, as jupyter_server_ydoc does."""


class _Clients(set[Any]):
    """Of a room whose pages were sent away: each takes itself out once more when its socket is closed, and a KeyError
    there would end the service of all rooms and cut off what is on its way to the store."""

    def remove(self, client: Any) -> None:
        self.discard(client)


class Rooms:
    """`is_run(document, cell)` says whether a cell is running or waiting to."""

    def __init__(self, server: Any, is_run: Callable[[str, str], bool]) -> None:
        self._server, self._is_run = server, is_run
        self._opening: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.closed = False

    @property
    def extension(self) -> Any:
        """The other extension; it is loaded after ours."""
        return next(iter(self._server.extension_manager.extension_apps[EXTENSION]))

    def path(self, document: str) -> str | None:
        """The file of a document, None for what is no document of this server."""
        parts = document.split(":", 2)
        if len(parts) != 3 or parts[:2] != ["json", "notebook"]:
            return None
        path: str | None = self._files.get_path(parts[2])
        return path

    async def open(self, document: str) -> Any:
        """The room, ready: made where there is none."""
        async with self._opening[document]:
            room = self._found(document)
            if room is not None and room.ready:
                return room
            await self._store_first(document)
            if room is None:
                await self.extension.get_document(room_id=document, copy=False, create=True)
                room = self._found(document)
            else:
                async with self.extension._room_locks[document]:
                    await room.initialize()
            await self._begin(document, room)
            self._note_saves(document, room)
            return room

    def _found(self, document: str) -> Any:
        return self.extension.ywebsocket_server.rooms.get(document)

    async def _store_first(self, document: str) -> None:
        """Changes that were stored and not yet saved when the last server ended go into the file, if that is the one
        they were made to; else the file, changed by somebody else since, holds. A copy beside it, which a save makes
        first and removes last, and a file that cannot be read: a save was cut off."""
        kind, content_type, file_id = document.split(":", 2)
        path = self._files.get_path(file_id)
        found = await stored_document(self._db_path, content_type, file_id)
        if path is None or found is None or found.hash is None:
            return
        contents = self._server.contents_manager
        try:
            now = await _maybe(contents.get(path, content=False, require_hash=True))
            half = Path(contents._get_os_path(path)).with_name(f".~{path.rsplit('/', 1)[-1]}")
            is_broken = half.exists() and await self._is_broken(path, kind, content_type)
            is_ours = now.get("hash") == found.hash or self._was_being_saved(
                file_id, contents._get_os_path(path)
            )
            if not is_ours and not is_broken:
                return
            file = None if is_broken else await _maybe(contents.get(path, type=content_type, format=kind))
            if file is None or file["content"] != found.content:
                model = {"type": content_type, "format": kind, "content": found.content}
                await _maybe(contents.save(model, path))
                if is_broken:
                    half.unlink(missing_ok=True)
                log.info("%s: changes that were not saved yet are in the file", path)
        except Exception as error:  # a file that is gone or locked: the room says so when it is opened
            log.warning("%s: stored changes could not be saved: %s", path, error)

    def _note_saves(self, document: str, room: Any) -> None:
        """A mark stands while a save is under way, until the store knows the hash of what was written."""
        file, mark = room._file, self._mark_of(document.split(":", 2)[2])
        save = file._save_content

        async def noted(*given: Any) -> Any:
            mark.touch(mode=0o600)
            saved = await save(*given)
            asyncio.get_running_loop().call_later(STORED_WITHIN_S, mark.unlink, True)
            return saved

        file._save_content = noted

    def _mark_of(self, file_id: str) -> Path:
        return Path(self._db_path).with_name(f"saving-{file_id}")

    def _was_being_saved(self, file_id: str, file: str) -> bool:
        """The last server ended within a save: what it had written is older than what it had stored."""
        mark = self._mark_of(file_id)
        if not mark.exists():
            return False
        after = Path(file).stat().st_mtime - mark.stat().st_mtime
        mark.unlink()
        return 0 <= after < SAVE_WITHIN_S

    async def _is_broken(self, path: str, kind: str, content_type: str) -> bool:
        try:
            await _maybe(self._server.contents_manager.get(path, type=content_type, format=kind))
        except HTTPError as error:
            return bool(error.status_code == 400)
        return False

    async def _begin(self, document: str, room: Any) -> None:
        """Cells that ran when the last server ended are not running now; the document knows its file's hash."""
        path = self._files.get_path(document.split(":", 2)[2])
        with contextlib.suppress(Exception):  # without it the next start only trusts the file
            model = await _maybe(self._server.contents_manager.get(path, content=False, require_hash=True))
            room._document.hash = model["hash"]
        cells = getattr(room._document, "ycells", None)
        if cells is None:
            return
        with room.ydoc.transaction():
            for place in range(len(cells)):
                self._mark(document, cells[place])

    def _mark(self, document: str, cell: Any) -> None:
        if cell.get("cell_type") != "code" or self._is_run(document, cell["id"]):
            return
        if cell.get("execution_state") == shared_cell.RUNNING:
            shared_cell.cut_short(cell, *STOPPED)
        else:
            shared_cell.asked_nothing(cell)

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
        deadline = time.monotonic() + SAVE_WITHIN_S
        while time.monotonic() < deadline:
            room._document.dirty = True
            task = room._save_to_disc()
            if task is None:
                await asyncio.sleep(LOCKED_S)
                continue
            await asyncio.wait({task})
            if not room._document.dirty:
                return True
        return False

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
                await self._drop(document, room)

        return asyncio.create_task(later())

    async def close(self) -> None:
        """Before the server stops: no page comes in, those that are in go, everything is in its file. Pages try again
        until somebody answers them, and bring what was typed meanwhile."""
        self.closed = True
        rooms = dict(self.extension.ywebsocket_server.rooms)
        documents = {name: room for name, room in rooms.items() if hasattr(room, "_save_to_disc")}
        for room in rooms.values():
            leaving, room.clients = list(room.clients), _Clients()
            for client in leaving:
                client.close(SERVICE_RESTART, "the server moves")
        for name, room in documents.items():
            if room.cleaner is not None:
                room.cleaner.cancel()
            if not await self.save(name):
                log.warning("%s was not saved before the stop", name)
            # Changes that are still on their way to the store would be cut off; pages build on each of them.
            await room.ystore.encode_state_as_update(room.ydoc)
            self._mark_of(name.split(":", 2)[2]).unlink(missing_ok=True)
            await self._drop(name, room)

    async def _drop(self, document: str, room: Any) -> None:
        async with self._opening[document], self.extension._room_locks[document]:
            await self.extension.ywebsocket_server.delete_room(room=room)
            loaders, file_id = self.extension.file_loaders, document.split(":", 2)[2]
            if file_id in loaders and loaders[file_id].number_of_subscriptions == 0:
                await loaders.remove(file_id)

    @property
    def _files(self) -> Any:
        return self._server.web_app.settings["file_id_manager"]

    @property
    def _db_path(self) -> str:
        found: str = self.extension.config.SQLiteYStore.db_path
        return found


async def _maybe(found: Any) -> Any:
    return await found if hasattr(found, "__await__") else found
