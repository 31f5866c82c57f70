"""How a shared document is read when it is opened: from its file, or from what the store knows more than the file.

The file is the document's own when it is the one that was last saved, or when a save of it was cut off. Then the store
holds, and nothing of the document is set anew: pages go on with the very texts that they edit. Else somebody changed the
file since, and the file holds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tornado.web import HTTPError

from gearshift.lab.documents.store import stored_document

log = logging.getLogger("gearshift.documents")

CUT_OFF_WITHIN_S = 60.0
"""A file written within this after the mark of a save that never ended was written by that save."""

Load = Callable[..., Awaitable[dict[str, Any]]]


@dataclass
class Opened:
    """One reading. `hash` of the file as it was read."""

    document: str
    loader: Any
    load: Load
    hash: str | None = None
    file_is_behind: bool = False


class Opening:
    """`folder` is where the store is, and the marks of saves that are under way."""

    def __init__(self, server: Any, folder: Path) -> None:
        self._server, self._folder = server, folder

    @contextmanager
    def reading(self, document: str, loader: Any) -> Iterator[Opened]:
        """Within it the file is read as what the document is to be."""
        opened = Opened(document, loader, loader.load_content)

        async def load(kind: str, content_type: str) -> dict[str, Any]:
            return await self._content(opened, kind, content_type)

        loader.load_content = load
        try:
            yield opened
        finally:
            del loader.load_content

    def done(self, opened: Opened, room: Any, is_open: Callable[[], bool]) -> None:
        """The document is there: it knows the hash of its file, from here on after each save. It is saved while it
        `is_open`: a save that waits for silence may outlive its room, and would put old text over new."""
        if opened.hash is not None and room._document.hash != opened.hash:
            room._document.hash = opened.hash
        self._note_saves(room, is_open)

    async def _content(self, opened: Opened, kind: str, content_type: str) -> dict[str, Any]:
        file_id = opened.document.split(":", 2)[2]
        now = await _maybe(self._contents.get(opened.loader.path, content=False, require_hash=True))
        stored = await stored_document(self._folder, content_type, file_id)
        is_ours = stored is not None and self._is_ours(file_id, stored.hash, now)
        try:
            model = await opened.load(kind, content_type)
        except HTTPError as error:
            if stored is None or error.status_code != 400 or not self._was_cut_off(opened.loader.path):
                raise
            model, is_ours = {**now, "format": kind, "type": content_type, "content": None}, True
            opened.loader.last_modified = now["last_modified"]
        if model["last_modified"] != now["last_modified"]:
            return model
        opened.hash = now["hash"]
        if stored is not None and is_ours:
            opened.file_is_behind = _bare(model["content"]) != _bare(stored.content)
            model["content"] = stored.content
        return model

    def _is_ours(self, file_id: str, saved: str | None, now: dict[str, Any]) -> bool:
        return saved is not None and (saved == now["hash"] or self._was_being_saved(file_id, now))

    def _was_being_saved(self, file_id: str, now: dict[str, Any]) -> bool:
        """The last server ended within a save: what it had written is older than what it had stored."""
        mark = self._mark_of(file_id)
        if not mark.exists():
            return False
        after: float = now["last_modified"].timestamp() - mark.stat().st_mtime
        return -1 <= after < CUT_OFF_WITHIN_S

    def _was_cut_off(self, path: str) -> bool:
        """The copy that a save makes first, and removes last."""
        return Path(self._contents._get_os_path(path)).with_name(f".~{path.rsplit('/', 1)[-1]}").exists()

    def _note_saves(self, room: Any, is_open: Callable[[], bool]) -> None:
        """A mark stands while a save is under way, until the document, and so the store, knows the hash of what was
        written."""
        loader, mark = room._file, self._mark_of(room._room_id.split(":", 2)[2])
        save = type(loader)._save_content

        async def noted(model: Any, done: asyncio.Event, path: str) -> Any:
            if not is_open():
                done.set()
                return None
            with suppress(OSError):  # a full disk: the save itself says so
                mark.touch(mode=0o600)
            try:
                saved = await save(loader, model, done, path)
                async with room._update_lock:
                    room._document.hash = saved["hash"]
                    room._document.dirty = False
            finally:
                mark.unlink(missing_ok=True)
            return saved

        loader._save_content = noted
        mark.unlink(missing_ok=True)

    def _mark_of(self, file_id: str) -> Path:
        return self._folder / f"saving-{file_id}"

    @property
    def _contents(self) -> Any:
        return self._server.contents_manager


def _bare(content: Any) -> Any:
    """Without what a file does not keep: which cells are trusted."""
    if not isinstance(content, dict):
        return content
    cells = [
        {**cell, "metadata": {key: value for key, value in cell["metadata"].items() if key != "trusted"}}
        for cell in content["cells"]
    ]
    return {**content, "cells": cells}


async def _maybe(found: Any) -> Any:
    return await found if hasattr(found, "__await__") else found
