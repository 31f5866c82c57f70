"""The line of queued jobs: who is in it, who starts now, and where everybody stands. The order is the model's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from gearshift.model.job import JobSpec, JobState, QueuePlace
from gearshift.model.lease import Lease, Purpose
from gearshift.model.queue import Waiting, next_round, place
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.services import leases


def line(ctx: Context, session: Session, without: Sequence[str] = ()) -> list[Waiting]:
    """Everybody who waits for room. `without` wait for something else first. Of two in one instant the number
    decides."""
    query = select(JobRow).where(JobRow.state == JobState.QUEUED).order_by(JobRow.number)
    found = []
    for row in session.scalars(query):
        machine = ctx.deployment.machine(row.spec["machine"])
        if machine is not None and row.id not in without:
            found.append(
                Waiting(
                    id=row.id,
                    machine=machine,
                    count=row.spec["nodes"],
                    priority=row.priority,
                    since=row.created_at + timedelta(microseconds=row.number),
                    overtaken=row.overtaken,
                )
            )
    return found


def places(ctx: Context, session: Session) -> dict[str, QueuePlace]:
    """Where each queued job stands."""
    waiting = line(ctx, session)
    if not waiting:
        return {}
    pools, held = leases.pools(ctx), leases.all_leases(session)
    return {one.id: place(one.id, waiting, pools, held) for one in waiting}


def place_if_sent(ctx: Context, session: Session, spec: JobSpec) -> QueuePlace | None:
    """Where a job would stand if it were sent now; None when it would start at once."""
    machine = ctx.deployment.machine(spec.machine)
    assert machine is not None, "checked before"
    new = Waiting(id="new", machine=machine, count=spec.nodes, since=ctx.clock.now())
    waiting = [*line(ctx, session), new]
    pools, held = leases.pools(ctx), leases.all_leases(session)
    one_round = next_round(waiting, pools, held, ctx.deployment.queue.overtake_limit)
    if any(started.id == new.id for started in one_round.started):
        return None
    return place(new.id, waiting, pools, held)


def take_turns(ctx: Context, session: Session, without: Sequence[str] = ()) -> list[tuple[str, list[Lease]]]:
    """Lease all nodes of every job whose turn it is, or none of its nodes; remember who was overtaken."""
    waiting = line(ctx, session, without)
    if not waiting:
        return []
    held = leases.all_leases(session)
    one_round = next_round(waiting, leases.pools(ctx), held, ctx.deployment.queue.overtake_limit)
    for one in one_round.waiting:
        row = session.get(JobRow, one.id)
        if row is not None and row.overtaken != one.overtaken:
            row.overtaken = one.overtaken
    taken = []
    for started in one_round.started:
        row = session.get(JobRow, started.id)
        assert row is not None
        taken.append(
            (
                row.id,
                [
                    leases.take(
                        ctx, session, grant, owner=row.owner, purpose=Purpose.JOB, job=row.id, whole=True
                    )
                    for grant in started.grants
                ],
            )
        )
    return taken


def unended(session: Session, owner: str) -> tuple[str, ...]:
    """A person's jobs that wait or run: what their limit counts."""
    final = [state for state in JobState if state.is_final]
    query = select(JobRow.id).where(JobRow.owner == owner, JobRow.state.not_in(final))
    return tuple(session.scalars(query))
