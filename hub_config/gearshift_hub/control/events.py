"""Events: written in the transaction of the change they tell, read by streams that resume from the last id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from gearshift_hub.control.clock import Clock
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.db.events import EventRow

KEPT = timedelta(days=7)
BATCH = 200


@dataclass(frozen=True)
class Event:
    """One thing that happened."""

    id: int
    at: datetime
    kind: str
    workspace: str | None
    data: dict[str, Any]


@dataclass(frozen=True)
class Audience:
    """Whose events a stream tells: one person's, of one workspace or of all; everybody's for an admin."""

    owner: str | None
    workspace: str | None = None


class EventBus:
    """Adds events and wakes the streams after the commit."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._waiters: set[asyncio.Future[None]] = set()
        self._closed = False
        self._added = False
        db.after_commit(self._wake_if_added)

    def add(
        self,
        session: Session,
        kind: str,
        data: dict[str, Any],
        *,
        owner: str | None = None,
        workspace: str | None = None,
    ) -> None:
        """Tell this with the change that `session` is making; `workspace` is written `owner/name`."""
        row = EventRow(at=self._clock.now(), kind=kind, owner=owner, workspace=workspace, data=data)
        session.add(row)
        self._added = True

    def last_id(self) -> int:
        with self._db.transaction() as session:
            return session.scalar(select(func.max(EventRow.id))) or 0

    def after(self, last_id: int, audience: Audience) -> list[Event]:
        """The next events for this audience, oldest first."""
        with self._db.transaction() as session:
            rows = session.scalars(_query(last_id, audience)).all()
        return [Event(row.id, row.at, row.kind, row.workspace, row.data) for row in rows]

    async def stream(self, last_id: int, audience: Audience, beat_s: float) -> AsyncIterator[Event | None]:
        """Events as they come; None whenever `beat_s` passed without one. Ends when the bus closes."""
        while not self._closed:
            woken = self._next_commit()
            events = self.after(last_id, audience)
            if not events and not await self._wait(woken, beat_s):
                yield None
            for event in events:
                last_id = event.id
                yield event

    def prune(self) -> None:
        """Forget what is older than a stream may resume from."""
        with self._db.transaction() as session:
            session.execute(delete(EventRow).where(EventRow.at < self._clock.now() - KEPT))

    def close(self) -> None:
        self._closed = True
        self._wake()

    def _next_commit(self) -> asyncio.Future[None]:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        return waiter

    async def _wait(self, woken: asyncio.Future[None], beat_s: float) -> bool:
        bell = asyncio.ensure_future(self._clock.sleep(beat_s))
        try:
            await asyncio.wait({woken, bell}, return_when=asyncio.FIRST_COMPLETED)
            return woken.done()
        finally:
            bell.cancel()
            self._waiters.discard(woken)

    def _wake_if_added(self) -> None:
        """A commit without events wakes nobody: the streams' own reads are such commits."""
        if self._added:
            self._added = False
            self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


def _query(last_id: int, audience: Audience) -> Any:
    query = select(EventRow).where(EventRow.id > last_id).order_by(EventRow.id).limit(BATCH)
    if audience.owner is not None:
        query = query.where(or_(EventRow.owner.is_(None), EventRow.owner == audience.owner))
    if audience.workspace is not None:
        query = query.where(or_(EventRow.workspace.is_(None), EventRow.workspace == audience.workspace))
    return query
