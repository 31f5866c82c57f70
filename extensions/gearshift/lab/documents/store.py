"""Reads what the update store of the shared documents holds, without opening a room."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pycrdt import Doc


@dataclass(frozen=True)
class Stored:
    """A document as the store has it, and the hash of the file it was last saved to."""

    content: Any
    hash: str | None


async def stored_document(database: str, content_type: str, file_id: str) -> Stored | None:
    """None where the store has nothing."""
    updates = await asyncio.to_thread(_updates, database, f".{content_type}:{file_id}.y")
    if not updates:
        return None
    from jupyter_ydoc import ydocs  # noqa: PLC0415 - 60 ms that a start does not need

    ydoc: Doc[Any] = Doc()
    for update in updates:
        ydoc.apply_update(update)
    document = ydocs.get(content_type, ydocs["file"])(ydoc)
    return Stored(document.get(), document.hash)


def _updates(database: str, path: str) -> list[bytes]:
    if not Path(database).exists():
        return []
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10) as connection:
        try:
            rows = connection.execute(
                "SELECT checkpoint, timestamp FROM ycheckpoints WHERE path = ?", (path,)
            ).fetchall()
            since = rows[0][1] if rows else 0.0
            rows += connection.execute(
                "SELECT yupdate, timestamp FROM yupdates WHERE path = ? AND timestamp >= ? ORDER BY timestamp",
                (path, since),
            ).fetchall()
        except sqlite3.OperationalError:  # made and not yet filled
            return []
        finally:
            connection.rollback()
    return [row[0] for row in rows]
