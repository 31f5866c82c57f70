"""The line: queued jobs, and people who wait for a machine; who starts now, and where everybody stands.

The order is the model's. What somebody is told of the jobs before theirs names only their own and their team's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gearshift.model.job import JobSpec, JobState, QueuePlace
from gearshift.model.lease import Lease, Pool, Purpose
from gearshift.model.machine import Machine
from gearshift.model.queue import Expected, Waiting, expected_starts, in_order, next_round, place
from gearshift.model.units import HOUR_US, cost_nano
from sqlalchemy import select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.services import leases, wait_line
from gearshift_hub.control.services.job_durations import Durations

FORESEEN = 40
"""For so many at the head of the line it is reckoned when they start."""


@dataclass
class Line:
    """Everybody who waits, as of one instant, with what is held and how long things take."""

    ctx: Context
    session: Session
    waiting: list[Waiting]
    durations: Durations
    pools: tuple[Pool, ...] = ()
    held: tuple[Lease, ...] = ()
    _expected: dict[str, Expected] | None = field(default=None, repr=False)

    @property
    def limit(self) -> int:
        return self.ctx.deployment.queue.overtake_limit

    def place(self, name: str) -> QueuePlace:
        """Position, needs, what is free."""
        return place(name, self.waiting, self.pools, self.held, self.limit, self.ctx.deployment.quotas)

    def expected(self, name: str) -> Expected | None:
        """When their turn comes, as far as that can be known."""
        if self._expected is None:
            now = self.ctx.clock.now()
            head = in_order(self.waiting, self.limit)[:FORESEEN]
            ends = self.durations.ends(self.held, now)
            quotas = self.ctx.deployment.quotas
            self._expected = expected_starts(head, self.pools, self.held, ends, now, self.limit, quotas)
        return self._expected.get(name)


def line(ctx: Context, session: Session, without: Sequence[str] = ()) -> Line:
    """Everybody who waits for room. `without` wait for something else first. Of two in one instant the number
    decides."""
    durations = Durations(session)
    query = select(JobRow).where(JobRow.state == JobState.QUEUED).order_by(JobRow.number)
    found = wait_line.waiting(ctx, session)
    for row in session.scalars(query):
        one = _waiting(ctx, row, durations) if row.id not in without else None
        found += [one] if one else []
    if not found:
        return Line(ctx, session, [], durations)
    return Line(ctx, session, found, durations, leases.pools(ctx), leases.all_leases(session))


def _waiting(ctx: Context, row: JobRow, durations: Durations) -> Waiting | None:
    machine = ctx.deployment.machine(row.spec["machine"])
    if machine is None:
        return None
    return Waiting(
        id=row.id,
        machine=machine,
        count=row.spec["nodes"],
        priority=row.priority,
        since=_since(row),
        overtaken=row.overtaken,
        owner=row.owner,
        seconds=durations.of(row.owner, row.spec),
    )


def _since(row: JobRow) -> datetime:
    return row.created_at + timedelta(microseconds=row.number)


def places(ctx: Context, session: Session, jobs_only: bool = True) -> dict[str, QueuePlace]:
    """Where each queued job stands, or everybody in line, with when it is expected to start."""
    now = line(ctx, session)
    return {one.id: _full(now, one) for one in now.waiting if one.is_job or not jobs_only}


def place_of(ctx: Context, session: Session, row: JobRow) -> QueuePlace | None:
    """Where one job stands; None for one that does not wait."""
    if JobState(row.state) is not JobState.QUEUED:
        return None
    now = line(ctx, session)
    one = next((one for one in now.waiting if one.id == row.id), None)
    return None if one is None else _full(now, one)


def seconds_of(session: Session, owner: str, spec: JobSpec) -> float | None:
    """How long this job of theirs will run, declared or measured."""
    return Durations(session).of(owner, spec.model_dump(mode="json"))


def place_if_sent(
    ctx: Context, session: Session, owner: str, spec: JobSpec, instead: JobRow | None = None
) -> QueuePlace | None:
    """Where a job would stand if it were sent now, or in the place of one; None when it would start at once."""
    machine = ctx.deployment.machine(spec.machine)
    assert machine is not None, "checked before"
    now = line(ctx, session)
    new = Waiting(
        id="new",
        machine=machine,
        count=spec.nodes,
        priority=spec.priority,
        since=_since(instead) if instead else ctx.clock.now() + timedelta(seconds=1),
        overtaken=instead.overtaken if instead else 0,
        owner=owner,
        seconds=now.durations.of(owner, spec.model_dump(mode="json")),
    )
    pools, held = leases.pools(ctx), leases.all_leases(session)
    others = [one for one in now.waiting if instead is None or one.id != instead.id]
    then = Line(ctx, session, [*others, new], now.durations, pools, held)
    turn = next_round(then.waiting, pools, held, then.limit, ctx.deployment.quotas)
    if any(started.id == new.id for started in turn.started):
        return None
    return _full(then, new)


def if_joined(
    ctx: Context, session: Session, user: str, machine: Machine
) -> tuple[int, int, datetime | None]:
    """Position, length of the line and expected turn of somebody who would wait for this machine from now on."""
    now = line(ctx, session)
    new = Waiting(
        id="new", machine=machine, since=ctx.clock.now() + timedelta(seconds=1), owner=user, is_job=False
    )
    pools, held = leases.pools(ctx), leases.all_leases(session)
    then = Line(ctx, session, [*now.waiting, new], now.durations, pools, held)
    stands, expected = then.place(new.id), then.expected(new.id)
    return stands.position, stands.of, expected.at if expected else None


def joining_at(ctx: Context, session: Session, machine: str) -> int:
    """The place in line of somebody who would wait for this machine from now on."""
    known = ctx.deployment.machine(machine)
    return 1 if known is None else if_joined(ctx, session, "", known)[0]


def take_turns(ctx: Context, session: Session, without: Sequence[str] = ()) -> list[tuple[str, list[Lease]]]:
    """Lease all nodes of every job whose turn it is, or none of its nodes; remember who was overtaken.

    A machine that somebody from the waitlist waited for is held for them in the same go.
    """
    now = line(ctx, session, without)
    if not now.waiting:
        return []
    turn = next_round(now.waiting, now.pools, now.held, now.limit, ctx.deployment.quotas)
    for one in turn.waiting:
        _overtaken(session, one)
    jobs = {one.id for one in now.waiting if one.is_job}
    taken = []
    for started in turn.started:
        if started.id not in jobs:
            wait_line.hold(ctx, session, started.id, started.grants[0])
            continue
        row = session.get(JobRow, started.id)
        assert row is not None
        held = [
            leases.take(ctx, session, grant, owner=row.owner, purpose=Purpose.JOB, job=row.id, whole=True)
            for grant in started.grants
        ]
        taken.append((row.id, held))
    return taken


def unended(session: Session, owner: str) -> tuple[str, ...]:
    """A person's jobs that wait or run: what their limit counts."""
    final = [state for state in JobState if state.is_final]
    query = select(JobRow.id).where(JobRow.owner == owner, JobRow.state.not_in(final))
    return tuple(session.scalars(query))


def _overtaken(session: Session, one: Waiting) -> None:
    row = session.get(JobRow, one.id) if one.is_job else wait_line.row(session, one.id)
    if row is not None and row.overtaken != one.overtaken:
        row.overtaken = one.overtaken


def _full(now: Line, one: Waiting) -> QueuePlace:
    """The place with what is reckoned: when it starts, after whom, what it will cost."""
    stands, expected = now.place(one.id), now.expected(one.id)
    after = expected.after if expected and expected.after else stands.after
    price = one.machine.prices_per_hour_nano
    per_hour = min(price.values()) * one.count
    cost = None if one.seconds is None else cost_nano(per_hour, round(one.seconds * HOUR_US / 3600))
    told = _told_of(now, one.owner, after)
    starts: datetime | None = expected.at if expected else None
    return stands.model_copy(update={"after": after, "starts_at": starts, "cost_nano": cost, **told})


def _told_of(now: Line, user: str, job: str | None) -> dict[str, str]:
    """Name and owner of the job that goes before, where it is their own or their team's."""
    row = now.session.get(JobRow, job) if job else None
    if row is None:
        return {}
    team = now.ctx.deployment.quotas.team_of(user)
    if row.owner != user and (team is None or row.owner not in team.members):
        return {}
    return {"after_name": row.spec["name"], "after_owner": row.owner}
