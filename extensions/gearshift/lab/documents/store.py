"""Reads what the update store of the shared documents holds, without opening a room."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pycrdt import Doc

from gearshift.lab.documents.update_store import log_of


@dataclass(frozen=True)
class Stored:
    """A document as the store has it, and the hash of the file it was last saved to."""

    content: Any
    hash: str | None


async def stored_document(folder: Path, content_type: str, file_id: str) -> Stored | None:
    """None where the store has nothing, or not all."""
    kept = await asyncio.to_thread(log_of(folder, f".{content_type}:{file_id}.y").read)
    if not kept.changes or not kept.is_whole:
        return None
    from jupyter_ydoc import ydocs  # noqa: PLC0415 - 60 ms that a start does not need

    ydoc: Doc[Any] = Doc()
    for _, change in kept.changes:
        ydoc.apply_update(change)
    document = ydocs.get(content_type, ydocs["file"])(ydoc)
    return Stored(document.get(), document.hash)
