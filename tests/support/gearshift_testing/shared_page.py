"""A page on a shared notebook, without a browser: joins its room, edits, asks the server to run cells, and comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import httpx
import websockets
from jupyter_ydoc import YNotebook
from pycrdt import (
    Doc,
    YMessageType,
    YSyncMessageType,
    create_sync_message,
    create_update_message,
    handle_sync_message,
)

PATIENCE_S = 60.0
AGAIN_S = 0.1


async def until(true: Callable[[], Any], what: str = "") -> Any:
    """The first true answer; the tests' only way to wait."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while not (found := true()):
        assert asyncio.get_running_loop().time() < deadline, what or "it did not come"
        await asyncio.sleep(0.02)
    return found


class SharedPage:
    """Use as `async with`. Its document lives on while the server is away; it joins again until it is let in."""

    def __init__(self, url: str, token: str, path: str) -> None:
        self.url, self.path = url, path
        self._headers = {"Authorization": f"token {token}"}
        self.doc: Doc[Any] = Doc()
        self.notebook = YNotebook(self.doc)
        self.closes: list[int] = []
        self.is_synced = False
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self._doc_observer = self.doc.observe(self._changed)
        self._receiving = False

    async def __aenter__(self) -> Self:
        self._http = httpx.AsyncClient(base_url=self.url, headers=self._headers, timeout=60, trust_env=False)
        body = {"format": "json", "type": "notebook"}
        said = (await self._http.put(f"api/collaboration/session/{self.path}", json=body)).raise_for_status()
        self.session = said.json()["sessionId"]
        self.document = f"json:notebook:{said.json()['fileId']}"
        self._task = asyncio.create_task(self._stay())
        await until(lambda: self.is_synced, "the room did not open")
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.leave()
        await self._http.aclose()

    async def leave(self) -> None:
        """The tab is closed."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    def moved_to(self, url: str) -> None:
        """The same address, for a browser; here the port of another server."""
        self.url = url
        self._http.base_url = httpx.URL(url)

    async def kernel(self) -> str:
        """The kernel of this notebook's session."""
        body = {
            "path": self.path,
            "name": self.path,
            "type": "notebook",
            "kernel": {"name": "python3"},
        }
        said = (await self._http.post("api/sessions", json=body)).raise_for_status()
        self.kernel_id: str = said.json()["kernel"]["id"]
        return self.kernel_id

    def add(self, code: str) -> str:
        """A cell at the end; its id."""
        name = uuid4().hex[:8]
        cell = {"cell_type": "code", "source": code, "metadata": {}, "outputs": [], "execution_count": None}
        self.notebook.append_cell({**cell, "id": name})
        return name

    async def send(self, *cells: str) -> httpx.Response:
        """Ask for these cells to be run, in this order."""
        orders = [{"id": cell, "code": str(self.ycell(cell)["source"])} for cell in cells]
        body = {"kernel_id": self.kernel_id, "document_id": self.document, "cells": orders}
        return await self._http.post("gearshift/documents/execute", json=body)

    async def run(self, code: str) -> str:
        """A new cell with this code, sent."""
        cell = self.add(code)
        (await self.send(cell)).raise_for_status()
        return cell

    async def done(self, cell: str) -> dict[str, Any]:
        """The cell once it has ended."""
        await until(lambda: self.ycell(cell).get("execution_state") == "idle" and self.was_run(cell))
        return self.cell(cell)

    def was_run(self, cell: str) -> bool:
        """It has a count, or an output that says why it has none."""
        found = self.ycell(cell)
        return found.get("execution_count") is not None or any(
            one.get("output_type") == "error" for one in found["outputs"].to_py()
        )

    async def post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        return await self._http.post(path, json=body)

    def ycell(self, cell: str) -> Any:
        return next(found for found in self.notebook.ycells if found["id"] == cell)

    def cell(self, cell: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ycell(cell).to_py()
        return found

    def text(self, cell: str) -> str:
        """What its streams say."""
        outputs = self.cell(cell)["outputs"]
        return "".join(one["text"] for one in outputs if one["output_type"] == "stream")

    async def _stay(self) -> None:
        while True:
            try:
                await self._join()
            except (OSError, websockets.WebSocketException) as error:
                code = getattr(getattr(error, "rcvd", None), "code", None)
                if code is not None:
                    self.closes.append(code)
            self.is_synced = False
            await asyncio.sleep(AGAIN_S)

    async def _join(self) -> None:
        address = f"{self.url.replace('http', 'ws', 1)}api/collaboration/room/{self.document}"
        async with websockets.connect(
            f"{address}?sessionId={self.session}", additional_headers=self._headers, max_size=None, proxy=None
        ) as socket:
            while not self._waiting.empty():
                self._waiting.get_nowait()
            await socket.send(create_sync_message(self.doc))
            sender = asyncio.create_task(self._send(socket))
            try:
                async for message in socket:
                    await self._take(socket, message)
            finally:
                sender.cancel()

    async def _send(self, socket: Any) -> None:
        while True:
            update = await self._waiting.get()
            await socket.send(create_update_message(update))

    async def _take(self, socket: Any, message: Any) -> None:
        if not isinstance(message, bytes) or message[0] != YMessageType.SYNC:
            return
        self._receiving = True
        try:
            answer = handle_sync_message(message[1:], self.doc)
        finally:
            self._receiving = False
        if answer is not None:
            await socket.send(answer)
        if message[1] == YSyncMessageType.SYNC_STEP2:
            self.is_synced = True

    def _changed(self, event: Any) -> None:
        if not self._receiving:
            self._waiting.put_nowait(event.update)


def notebook(folder: Path, name: str) -> Path:
    """A notebook file without cells."""
    file = folder / name
    file.write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return file


def saved(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found


def in_file(file: Path, cell: str) -> dict[str, Any]:
    """A cell as it is saved; an empty one before the first save, and while it is being written."""
    cells = saved(file).get("cells", [])
    empty: dict[str, Any] = {"outputs": [], "execution_count": None}
    found = next((one for one in cells if one["id"] == cell), empty)
    return {**found, "source": "".join(found.get("source", ""))}


def text_in_file(file: Path, cell: str) -> str:
    outputs = in_file(file, cell)["outputs"]
    return "".join("".join(one["text"]) for one in outputs if one["output_type"] == "stream")
