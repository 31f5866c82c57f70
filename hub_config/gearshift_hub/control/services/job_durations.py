"""How long jobs take: as their owner said, as they were measured before, as far as they have come; else nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any

from gearshift.model.job import JobState
from gearshift.model.lease import Lease
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.db.jobs import JobRow

MEASURED = 5
"""So many of the last runs make the mean."""
LOOKED_BACK = 200


class Durations:
    """Asked for many jobs in one transaction; each owner's past is read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._past: dict[str, list[tuple[dict[str, Any], float]]] = {}

    def of(
        self, owner: str, spec: dict[str, Any], machine: str | None = None, nodes: int | None = None
    ) -> float | None:
        """Seconds from all ranks running to the end; for another machine or number of nodes only what was measured."""
        as_it_is = machine is None and nodes is None
        if as_it_is and spec.get("expected_seconds"):
            return float(spec["expected_seconds"])
        shape = (machine or spec["machine"], nodes or spec["nodes"])
        seconds = [
            took
            for past, took in self._of_owner(owner)
            if past["name"] == spec["name"] and (past["machine"], past["nodes"]) == shape
        ]
        if seconds:
            return fmean(seconds[:MEASURED])
        limit = spec.get("deadline_seconds") if as_it_is else None
        return float(limit) if limit else None

    def ends(self, held: Iterable[Lease], now: datetime) -> dict[str, datetime]:
        """When leases of jobs are given back. A job that ran longer than it should is no longer reckoned with."""
        found = {}
        for lease in held:
            row = self._session.get(JobRow, lease.job) if lease.job else None
            end = self._end(row, now) if row is not None else None
            if end is not None and end > now:
                found[lease.id] = end
        return found

    def _end(self, row: JobRow, now: datetime) -> datetime | None:
        """By its steps where it tells them, which is the best that is known."""
        if row.running_at is None:
            return None
        told = row.metrics_last or {}
        step, steps = told.get("step"), told.get("steps")
        if isinstance(step, int | float) and isinstance(steps, int | float) and 0 < step < steps:
            return now + (now - row.running_at) * ((steps - step) / step)
        seconds = self.of(row.owner, row.spec)
        return None if seconds is None else row.running_at + timedelta(seconds=seconds)

    def _of_owner(self, owner: str) -> list[tuple[dict[str, Any], float]]:
        """Jobs that came to their end, newest first."""
        if owner not in self._past:
            query = select(JobRow).where(JobRow.owner == owner, JobRow.state == JobState.SUCCEEDED)
            rows = self._session.scalars(query.order_by(JobRow.number.desc()).limit(LOOKED_BACK))
            self._past[owner] = [
                (row.spec, (row.ended_at - row.running_at).total_seconds())
                for row in rows
                if row.running_at is not None and row.ended_at is not None
            ]
        return self._past[owner]
