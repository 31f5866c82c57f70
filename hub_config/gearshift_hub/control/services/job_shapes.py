"""Other shapes of a queued job that would start now: fewer nodes, another machine; and changing it to one of them.

How long another shape takes is measured where the same job ran so before; fewer nodes of the same machine are else
reckoned as if the work divided evenly over nodes. For another machine nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.job import JobSpec, JobState, Shape
from gearshift.model.machine import Machine, Plan
from gearshift.model.queue import Waiting, would_start
from gearshift.model.units import HOUR_US, cost_nano
from pydantic import BaseModel
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.services import job_line, job_plans, job_records, plans
from gearshift_hub.control.services.job_line import Line
from gearshift_hub.control.services.job_records import JobDetails
from gearshift_hub.control.services.plans import Plan as Shown

SHOWN = 3


def register(ctx: Context) -> None:
    plans.register(ctx, "reshape_job", propose=propose, perform=perform, moving=job_plans.MOVING)


def shapes(now: Line, one: Waiting, spec: Mapping[str, Any]) -> tuple[Shape, ...]:
    """The largest of each machine that would start at once, those most like it first."""
    found: list[Shape] = []
    for machine in _machines(now, one, spec):
        shape = next(_starting(now, one, machine, spec), None)
        if shape is not None:
            found.append(shape)
        if len(found) == SHOWN:
            break
    return tuple(found)


def _machines(now: Line, one: Waiting, spec: Mapping[str, Any]) -> list[Machine]:
    """Those that run its image and have a chip if its own has one; its own first, then by price."""
    price = one.machine.prices_per_hour_nano[Plan.ON_DEMAND]
    fitting = [
        machine
        for machine in now.ctx.deployment.machines
        if spec["image"] in machine.images
        and Plan.ON_DEMAND in machine.prices_per_hour_nano
        and (machine.chip is None) == (one.machine.chip is None)
    ]

    def unlike(machine: Machine) -> tuple[bool, int]:
        return machine.id != one.machine.id, abs(machine.prices_per_hour_nano[Plan.ON_DEMAND] - price)

    return sorted(fitting, key=unlike)


def _starting(now: Line, one: Waiting, machine: Machine, spec: Mapping[str, Any]) -> Iterator[Shape]:
    quotas = now.ctx.deployment.quotas
    for nodes in range(one.count, 0, -1):
        new = one.model_copy(update={"machine": machine, "count": nodes})
        if (machine.id, nodes) != (one.machine.id, one.count) and would_start(
            new, now.waiting, now.pools, now.held, now.limit, quotas
        ):
            yield _shape(now, one, machine, nodes, spec)


def _shape(now: Line, one: Waiting, machine: Machine, nodes: int, spec: Mapping[str, Any]) -> Shape:
    price = machine.prices_per_hour_nano[Plan.ON_DEMAND] * nodes
    seconds = now.durations.of(one.owner, dict(spec), machine.id, nodes)
    if seconds is None and one.seconds is not None and machine.id == one.machine.id:
        seconds = one.seconds * one.count / nodes
    cost = None if seconds is None else cost_nano(price, round(seconds * HOUR_US / 3600))
    return Shape(machine=machine.id, nodes=nodes, price_per_hour_nano=price, seconds=seconds, cost_nano=cost)


async def propose(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """The same job in another shape: its place in line stays."""
    with ctx.db.transaction() as session:
        row, spec = _reshaped(session, actor, body)
        price = job_plans.admitted(ctx, session, actor, spec, besides=row.id)
        figures = job_plans.figures(ctx, session, actor, spec, price, instead=row)
        return {**figures, "job": row.id, "cap_nano": row.cap_nano}


async def perform(ctx: Context, actor: Actor, plan: Shown) -> BaseModel:
    """Change what it asks for; it may start with the next look at the line."""
    with ctx.db.transaction() as session:
        row, spec = _reshaped(session, actor, plan.body)
        caps = [cap for cap in (row.cap_nano, plan.max_cost_nano) if cap is not None]
        row.price_per_hour_nano = job_plans.admitted(ctx, session, actor, spec, besides=row.id)
        row.spec, row.cap_nano = spec.model_dump(mode="json"), min(caps, default=None)
        session.flush()
        details = job_records.tell(ctx, session, row)
    job_records.part(ctx).bell.set()
    return details


def one(ctx: Context, actor: Actor, job: str) -> JobDetails:
    """A job as its own page shows it: one that waits with the shapes that would start now."""
    details = job_records.one(ctx, actor, job)
    if details.queue is None:
        return details
    with ctx.db.transaction() as session:
        row = job_records.get(session, job)
        now = job_line.line(ctx, session)
        waits = next((one for one in now.waiting if one.id == job), None)
        found = shapes(now, waits, row.spec) if waits else ()
    return details.model_copy(update={"queue": details.queue.model_copy(update={"shapes": found})})


def _reshaped(session: Session, actor: Actor, body: Mapping[str, Any]) -> tuple[JobRow, JobSpec]:
    row = job_records.visible(session, actor, str(body.get("job", "")))
    if row.owner != actor.name:
        raise fail("forbidden", role="the owner", role_zh="所有者")
    if row.state != JobState.QUEUED:
        raise fail("not_queued", field="job", value=row.id, state=row.state)
    changes = {key: body[key] for key in ("machine", "nodes") if body.get(key) is not None}
    return row, job_plans.spec_of({"spec": {**row.spec, **changes}})
