"""How long the files of a job stay: logs, curve, result, checkpoints. Its record and what it cost stay for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

from gearshift.model.errors import fail
from gearshift.model.job import JobState
from gearshift.model.units import to_iso
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow


def until(ctx: Context, row: JobRow) -> datetime | None:
    """When the files of a job that has ended are removed; None before, and when they are."""
    if row.ended_at is None or row.files_gone_at is not None:
        return None
    return row.ended_at + timedelta(days=ctx.deployment.jobs.keep_days)


def check_there(ctx: Context, row: JobRow, field: str = "job") -> None:
    """Raises `job_files_gone` for a job whose files were removed."""
    if row.files_gone_at is not None:
        raise fail(
            "job_files_gone",
            field=field,
            value=row.id,
            when=to_iso(row.files_gone_at),
            days=f"{ctx.deployment.jobs.keep_days:g}",
        )


def due(ctx: Context, session: Session) -> list[str]:
    """Jobs whose files are to be removed: ended long ago, and nobody waits to go on from their checkpoints."""
    before = ctx.clock.now() - timedelta(days=ctx.deployment.jobs.keep_days)
    rows = session.scalars(select(JobRow).where(JobRow.ended_at < before, JobRow.files_gone_at.is_(None)))
    going = [state for state in JobState if not state.is_final]
    unended = session.scalars(select(JobRow.spec).where(JobRow.state.in_(going)))
    needed = {spec.get("resume") for spec in unended}
    return [row.id for row in rows if row.id not in needed]
