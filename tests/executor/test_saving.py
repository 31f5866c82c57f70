"""A save of a shared document: marked while it is under way, known to the document, and never by a room that is closed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from gearshift.lab.documents.opening import Opened, Opening
from jupyter_ydoc import YNotebook


class File:
    """As the package's own: saves a model, tells that it is done."""

    def __init__(self, mark: Path) -> None:
        self.saved: list[Any] = []
        self.marked: list[bool] = []
        self._mark = mark

    async def load_content(self, kind: str, content_type: str) -> dict[str, Any]:
        return {"content": self.saved[-1]}

    async def _save_content(self, model: Any, done: asyncio.Event, path: str) -> dict[str, Any]:
        self.marked.append(self._mark.exists())
        self.saved.append(model)
        done.set()
        return {"hash": f"hash of {model}"}


class Room:
    _room_id = "json:notebook:n1"

    def __init__(self, file: File) -> None:
        self._file, self._document, self._update_lock = file, YNotebook(), asyncio.Lock()


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_save_is_noted_while_its_room_is_open_and_else_not_made(
    tmp_path: Path, is_open: bool
) -> None:
    """One that waited for silence may outlive its room, and would put old text over what a later room has saved."""
    file = File(tmp_path / "saving-n1")
    room, done = Room(file), asyncio.Event()
    opened = Opened(room._room_id, file, file.load_content, "hash of old")
    Opening(None, tmp_path).done(opened, room, lambda: is_open)
    assert room._document.hash == "hash of old"
    answer = await file._save_content("new", done, "a.ipynb")
    assert done.is_set()
    assert file.saved == (["new"] if is_open else [])
    assert file.marked == ([True] if is_open else [])
    assert (answer is not None) == is_open
    assert room._document.hash == ("hash of new" if is_open else "hash of old")
    assert not (tmp_path / "saving-n1").exists()
