"""The records of jobs: found, shown, moved from state to state; every change of state writes its event here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gearshift.model.chinese import in_chinese
from gearshift.model.errors import fail
from gearshift.model.job import EndReason, Job, JobSpec, JobState, QueuePlace
from gearshift.model.lease import Lease
from gearshift.model.machine import Machine
from gearshift.model.record import Instant
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gearshift_hub.backends.jobs import JobBackend
from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.services import job_keeping, job_line, job_status, leases, ledger
from gearshift_hub.control.services.job_series import Series


class JobDetails(Job):
    """A job with what only its own page shows."""

    note: str = ""
    note_zh: str = ""
    ended_by: str | None = None
    cap_nano: int | None = None
    plan: str | None = None
    running_at: Instant | None = None
    files_until: Instant | None = None
    """Of a job that has ended: when its logs, curve, result and checkpoints are removed."""
    files_gone_at: Instant | None = None


@dataclass
class JobsPart:
    """The jobs' share of the context: the backend, the loop's bell, and the curves read so far."""

    WORDS: ClassVar = ("Jobs", "任务")

    backend: JobBackend
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    series: dict[str, Series] = field(default_factory=dict)
    attended: dict[str, float] = field(default_factory=dict)
    """Attached jobs -> when (monotonic) their cell gave the last sign of life, or control began to look."""


def part(ctx: Context) -> JobsPart:
    return ctx.backend.parts.get(JobsPart)


def subject(job: str) -> str:
    """How the ledger names a job."""
    return f"job:{job}"


def get(session: Session, job: str) -> JobRow:
    """The row, or `unknown_job`."""
    row = session.get(JobRow, job)
    if row is None:
        raise fail("unknown_job", field="job", value=job)
    return row


def visible(session: Session, actor: Actor, job: str) -> JobRow:
    """The row for somebody who may see it; for others it does not exist."""
    row = session.get(JobRow, job)
    if row is None or (row.owner != actor.name and not actor.admin):
        raise fail("unknown_job", field="job", value=job)
    return row


def live(session: Session) -> list[JobRow]:
    """Jobs that hold machines."""
    holding = [state for state in JobState if state.holds_lease]
    return list(session.scalars(select(JobRow).where(JobRow.state.in_(holding)).order_by(JobRow.number)))


def nodes(session: Session, row: JobRow) -> list[Lease]:
    """The leases of a job, one a node, in the order of its nodes."""
    held = [lease for lease in leases.all_leases(session) if lease.job == row.id]
    return sorted(held, key=lambda lease: (lease.device_ids, lease.id))


def queued(session: Session) -> list[JobRow]:
    """Jobs that wait in line."""
    return list(
        session.scalars(select(JobRow).where(JobRow.state == JobState.QUEUED).order_by(JobRow.number))
    )


def unended(session: Session) -> list[JobRow]:
    """Jobs that wait in line or hold machines, and are not being ended."""
    going = [state for state in JobState if not state.is_final and state is not JobState.CANCELLING]
    return list(session.scalars(select(JobRow).where(JobRow.state.in_(going)).order_by(JobRow.number)))


def of_owner(session: Session, owner: str) -> list[JobRow]:
    return list(session.scalars(select(JobRow).where(JobRow.owner == owner)))


def one(ctx: Context, actor: Actor, job: str) -> JobDetails:
    with ctx.db.transaction() as session:
        row = visible(session, actor, job)
        return shown(ctx, session, row, job_line.place_of(ctx, session, row))


def shown(ctx: Context, session: Session, row: JobRow, place: QueuePlace | None = None) -> JobDetails:
    """A job as everybody sees it."""
    spec = JobSpec.read(row.spec)
    said = job_status.read(row.status or None, spec.world_size)
    held = [lease.device_ids for lease in nodes(session, row)] if JobState(row.state).holds_lease else []
    cost = row.cost_nano
    if cost is None:
        cost = (
            ledger.cost_of(session, subject(row.id), ctx.clock.now()) if row.running_at or row.retried else 0
        )
    return JobDetails(
        id=row.id,
        owner=row.owner,
        spec=spec,
        state=JobState(row.state),
        reason=row.reason,
        attempt=said.attempt if said else 0,
        attempts=job_status.attempts(said),
        ranks=job_status.ranks(said, spec, held) if row.started_at else (),
        first_failure=job_status.failure(said),
        metrics_last=row.metrics_last,
        created_at=row.created_at,
        started_at=row.started_at,
        running_at=row.running_at,
        ended_at=row.ended_at,
        price_per_hour_nano=row.price_per_hour_nano,
        cost_nano=cost,
        queue=place,
        use=said.use if said and JobState(row.state) is JobState.RUNNING else None,
        note=row.note,
        note_zh=in_chinese(row.note),
        ended_by=row.ended_by,
        cap_nano=row.cap_nano,
        checkpoint_step=said.checkpoint_step if said else None,
        plan=row.plan,
        files_until=job_keeping.until(ctx, row),
        files_gone_at=row.files_gone_at,
    )


def add(ctx: Context, session: Session, row: JobRow) -> JobDetails:
    """A new job at the end of the line."""
    row.number = (session.scalar(select(func.max(JobRow.number))) or 0) + 1
    session.add(row)
    session.flush()
    return tell(ctx, session, row)


def change(ctx: Context, session: Session, row: JobRow, state: JobState, **fields: Any) -> JobDetails:
    """Move a job on and tell it; raises for a step that no job takes."""
    now = JobState(row.state)
    if not now.can_become(state):
        raise ValueError(f"job {row.id}: {now} cannot become {state}")
    row.state = state
    for name, value in fields.items():
        setattr(row, name, value)
    session.flush()
    return tell(ctx, session, row)


def tell(ctx: Context, session: Session, row: JobRow) -> JobDetails:
    """Everybody who looks at the job sees it as it is now."""
    details = shown(ctx, session, row, job_line.place_of(ctx, session, row))
    data = {"job": details.model_dump(mode="json")}
    ctx.events.add(session, "job.state", data, owner=row.owner, workspace=None)
    return details


def machine_of(ctx: Context, spec: Mapping[str, Any]) -> Machine:
    machine = ctx.deployment.machine(spec["machine"])
    if machine is None:
        raise fail("unknown_machine", field="machine", value=spec["machine"], allowed=[])
    return machine


def take_away(ctx: Context, session: Session, row: JobRow) -> bool:
    """Its machine goes away: it gets its grace to save, and goes on elsewhere while its budget lasts.

    False for one that holds no machine, or is being ended already.
    """
    going = JobState(row.state) in (JobState.STARTING, JobState.RUNNING) and row.ending is None
    if going:
        row.ending = EndReason.INTERRUPTED
        tell(ctx, session, row)
    return going


def cancel(ctx: Context, session: Session, row: JobRow, by: str) -> JobDetails:
    """Decide that a job ends; who waits is out of the line at once."""
    state = JobState(row.state)
    if state.is_final or state is JobState.CANCELLING:
        return shown(ctx, session, row)
    if state is JobState.QUEUED:
        reason, now = EndReason.CANCELLED, ctx.clock.now()
        return change(ctx, session, row, JobState.CANCELLED, reason=reason, ended_by=by, ended_at=now)
    fields = {"ending": EndReason.CANCELLED, "ended_by": by}
    return change(ctx, session, row, JobState.CANCELLING, **fields)
