"""The update store without waiting for the disk: it must outlive a killed server, not a lost box, and files do that.

Each change of a document is a commit; with a sync for each, the store falls seconds behind a cell that prints.
"""

from __future__ import annotations

from jupyter_server_ydoc.stores import SQLiteYStore


class UpdateStore(SQLiteYStore):  # type: ignore[misc]
    """Set as `YDocExtension.ystore_class`."""

    async def _init_db(self) -> None:
        await super()._init_db()
        cursor = await self._db.cursor()
        await cursor.execute("PRAGMA synchronous = OFF")
