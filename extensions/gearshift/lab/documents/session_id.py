"""The session that pages of shared documents belong to: one for the life of the update store, not one per process.

A page that comes back after a change of server is then known, however often it changed. It is kept beside the store:
who deletes one deletes both. Other versions of the packages are another session: their documents may differ.
"""

from __future__ import annotations

import uuid
from pathlib import Path


def session_of(folder: Path, version: str) -> str:
    """Made at the first start."""
    file = folder / "session"
    try:
        base = uuid.UUID(file.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        base = uuid.uuid4()
        file.write_text(str(base), encoding="ascii")
    return str(uuid.uuid5(base, version))


def use(folder: Path) -> None:
    """In place of the one that jupyter_server_ydoc draws when it is imported."""
    from jupyter_server_ydoc import handlers  # noqa: PLC0415 - importing it is what must come late

    handlers.SERVER_SESSION = session_of(folder, handlers.YDOC_SERVER_VERSION)
