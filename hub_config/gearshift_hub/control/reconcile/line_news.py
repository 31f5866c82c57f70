"""Tells who waits how their place in line has changed: at most once a second, and only what is new."""

from __future__ import annotations

from gearshift.model.job import QueuePlace
from gearshift.model.waitlist import WaitState
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.services import job_line, job_records, wait_line

MINUTE_S = 60
Told = tuple[object, ...]


class LineNews:
    """Remembers what was told last; after a start of control everybody is told once more."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._told: dict[str, Told] = {}

    async def look(self) -> None:
        with self._ctx.db.transaction() as session:
            places = job_line.places(self._ctx, session, jobs_only=False)
            new = {id: _told(place) for id, place in places.items()}
            for id in [id for id, told in new.items() if self._told.get(id) != told]:
                self._tell(session, id, places[id])
        self._told = new

    def _tell(self, session: Session, id: str, place: QueuePlace) -> None:
        wait = wait_line.row(session, id)
        if wait is not None:
            wait_line.move(self._ctx, session, wait, WaitState(wait.state))
            return
        row = job_records.get(session, id)
        details = job_records.shown(self._ctx, session, row, place)
        data = {"job": details.model_dump(mode="json")}
        self._ctx.events.add(session, "job.state", data, owner=row.owner, workspace=None)


def _told(place: QueuePlace) -> Told:
    """What makes a difference to whoever reads it: the turn by the minute."""
    minute = place.starts_at and round(place.starts_at.timestamp() / MINUTE_S)
    return place.position, place.of, place.needs, place.free, place.after, minute, place.quota
