"""The update store of shared documents: what a document is made of, so that pages which come back can go on with it.

It follows the document itself. The store of the package is told by a task among others, behind a cell that prints;
a change could be seen by pages and not be kept, and its clean-up of old changes loses them.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

from pycrdt import Doc
from pycrdt.store import BaseYStore, YDocNotFound

from gearshift.lab.documents.change_log import ChangeLog

NOTHING = b"\x00\x00"
MANY = 500
"""More changes than this are put together when a document is opened."""


class UpdateStore(BaseYStore):  # type: ignore[misc]
    """Set as `YDocExtension.ystore_class`; it is made with and without settings, so the folder belongs to the class."""

    folder: ClassVar[Path]

    def __init__(self, path: str, metadata_callback: Any = None, log: Any = None, config: Any = None) -> None:
        self.path, self.metadata_callback = path, metadata_callback
        self.log = log or logging.getLogger(__name__)
        self._changes = log_of(self.folder, path)

    async def start(self, *, task_status: Any = None, from_context_manager: bool = False) -> None:
        """There is nothing to wait for."""
        if task_status is not None:
            task_status.started()
        self.started.set()

    async def stop(self) -> None:
        """Nothing is kept open."""

    def follow(self, ydoc: Doc[Any]) -> None:
        """From now on every change is kept before anybody hears of it."""

        def keep(event: Any) -> None:
            if event.update != NOTHING:
                self._changes.append(event.update)

        ydoc.observe(keep)

    async def write(self, data: bytes) -> None:
        """It was kept when it happened."""

    async def read(self) -> AsyncIterator[tuple[bytes, bytes, float]]:
        for when, change in self._changes.read().changes:
            yield change, b"", when

    async def apply_updates(self, ydoc: Doc[Any]) -> None:
        kept = self._changes.take_over()
        if not kept.changes:
            raise YDocNotFound
        for _, change in kept.changes:
            ydoc.apply_update(change)
        if len(kept.changes) > MANY and kept.is_whole:
            await self.encode_state_as_update(ydoc)

    async def encode_state_as_update(self, ydoc: Doc[Any]) -> None:
        """What the document is now takes the place of how it came about."""
        self._changes.replace(ydoc.get_update())

    @property
    def is_long(self) -> bool:
        return self._changes.is_long


def log_of(folder: Path, path: str) -> ChangeLog:
    return ChangeLog(folder / path.replace("/", "_"))
