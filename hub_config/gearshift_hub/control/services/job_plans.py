"""The plans of jobs: what starting one would cost and where it would stand; what cancelling one ends."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any

from gearshift.model.admission import Request, check
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.job import JobSpec, JobState
from gearshift.model.lease import WHOLE, Purpose
from gearshift.model.quota import Usage
from gearshift.model.units import cost_nano, format_bytes, to_iso
from pydantic import BaseModel, ValidationError
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.services import (
    admission,
    job_keeping,
    job_line,
    job_records,
    ledger,
    plans,
    workspaces,
)
from gearshift_hub.control.services.plans import Plan

SECOND_US = 1_000_000
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
ENV_BYTES = 1 << 16
MOVING = (
    "position",
    "needs",
    "after",
    "starts",
    "starts_at",
    "estimate_nano",
    "step",
    "state",
    "cost_nano",
    "checkpoint_step",
)


def register(ctx: Context) -> None:
    plans.register(ctx, "job", propose=propose_job, perform=perform_job, moving=MOVING)
    plans.register(ctx, "cancel_job", propose=propose_cancel, perform=perform_cancel, moving=MOVING)


async def propose_job(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Price, cap and place in line; everything that could refuse the job is asked here."""
    spec = spec_of(body)
    size = job_records.part(ctx).backend.bundle_bytes(actor.name, spec.code)
    with ctx.db.transaction() as session:
        price = admitted(ctx, session, actor, spec)
        resume_step = _resume_step(ctx, session, actor, spec)
        if size is None:
            raise fail("bad_request", field="code", value=spec.code, problem="send this bundle first")
        found = figures(ctx, session, actor, spec, price)
    return {**found, "bundle_bytes": size, "resume_step": resume_step}


def figures(
    ctx: Context, session: Session, actor: Actor, spec: JobSpec, price: int, instead: JobRow | None = None
) -> dict[str, Any]:
    """Shape, price, cap and place in line; `instead` is the queued job that would become this."""
    place = job_line.place_if_sent(ctx, session, actor.name, spec, instead)
    seconds = job_line.seconds_of(session, actor.name, spec)
    return {
        "name": spec.name,
        "machine": spec.machine,
        "image": spec.image,
        "nodes": spec.nodes,
        "procs": spec.procs,
        "launch": spec.launch,
        "simulated": job_records.machine_of(ctx, spec.model_dump()).simulated,
        "price_per_hour_nano": price,
        "max_cost_nano": _most(spec, price),
        "deadline_seconds": spec.deadline_seconds,
        "seconds": seconds,
        "estimate_nano": None if seconds is None else cost_nano(price, round(seconds * SECOND_US)),
        "balance_nano": ledger.balance(session, actor.name, ctx.clock.now()),
        "starts": "now" if place is None else "queued",
        "position": place.position if place else 0,
        "needs": place.needs if place else 0,
        "free": place.free if place else 0,
        "after": place.after if place else None,
        "starts_at": to_iso(place.starts_at) if place and place.starts_at else None,
    }


async def perform_job(ctx: Context, actor: Actor, plan: Plan) -> BaseModel:
    """Put it in line; it starts with the next look at the line when there is room."""
    spec = spec_of(plan.body)
    caps = [cap for cap in (spec.budget_nano, plan.max_cost_nano) if cap is not None]
    with ctx.db.transaction() as session:
        price = admitted(ctx, session, actor, spec)
        _resume_step(ctx, session, actor, spec)
        row = JobRow(
            id=f"job-{secrets.token_hex(4)}",
            owner=actor.name,
            workspace=_workspace(session, actor, spec),
            plan=plan.id,
            spec=spec.model_dump(mode="json"),
            state=JobState.QUEUED,
            priority=spec.priority,
            price_per_hour_nano=price,
            cap_nano=min(caps, default=None),
            created_at=ctx.clock.now(),
        )
        details = job_records.add(ctx, session, row)
    job_records.part(ctx).bell.set()
    return details


async def propose_cancel(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """What would be ended, how far it is and what it has cost."""
    details = job_records.one(ctx, actor, str(body.get("job", "")))
    return {
        "job": details.id,
        "name": details.spec.name,
        "state": details.state,
        "step": (details.metrics_last or {}).get("step"),
        "checkpoint_step": details.checkpoint_step,
        "cost_nano": details.cost_nano,
        "price_per_hour_nano": 0,
        "max_cost_nano": 0,
    }


async def perform_cancel(ctx: Context, actor: Actor, plan: Plan) -> BaseModel:
    """End it in whatever state it is; what has ended stays as it is."""
    with ctx.db.transaction() as session:
        row = job_records.visible(session, actor, str(plan.body["job"]))
        details = job_records.cancel(ctx, session, row, actor.name)
    job_records.part(ctx).bell.set()
    return details


def spec_of(body: Mapping[str, Any]) -> JobSpec:
    """The spec as it was written, or the first field that does not fit."""
    given = body.get("spec")
    if not isinstance(given, Mapping):
        raise fail("bad_request", field="spec", value=None, problem="a job needs a spec")
    try:
        spec = JobSpec.model_validate(dict(given))
    except ValidationError as error:
        raise _refused(error) from error
    _check_env(spec)
    return spec


def _refused(error: ValidationError) -> GearshiftError:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"]) or "spec"
    code = "bad_nodes" if name in ("nodes", "procs") else "bad_request"
    value = first.get("input")
    shown = value if isinstance(value, str | int | float | bool | None) else None
    expected = first.get("ctx", {}).get("expected")
    return fail(code, field=name, value=shown, allowed=[expected] if expected else None, problem=first["msg"])


def _check_env(spec: JobSpec) -> None:
    for name, value in spec.env.items():
        if not ENV_NAME.fullmatch(name) or "\0" in value:
            raise fail("bad_request", field="env", value=name, problem="this is no name of a variable")
    size = sum(len(name) + len(value.encode()) for name, value in spec.env.items())
    size += sum(len(word.encode()) for word in spec.argv)
    if size > ENV_BYTES:
        raise fail("too_large", field="env and argv", size=format_bytes(size), limit=format_bytes(ENV_BYTES))
    if any("\0" in word for word in spec.argv):
        raise fail("bad_request", field="argv", value=None, problem="a word holds a NUL")


def admitted(ctx: Context, session: Session, actor: Actor, spec: JobSpec, besides: str | None = None) -> int:
    """May it wait in line, were `besides` not there? Returns the price per hour of all its nodes."""
    world = admission.world(ctx, session, actor.name)
    others = tuple(job for job in job_line.unended(session, actor.name) if job != besides)
    world = world.model_copy(update={"jobs_of_user": others})
    request = Request.of(actor.name, spec, count=spec.nodes, procs=spec.procs, purpose=Purpose.JOB)
    price = check(request, world).price_per_hour_nano
    _check_place(ctx, actor, spec)
    return price


def _check_place(ctx: Context, actor: Actor, spec: JobSpec) -> None:
    """A priority that its sender may ask for, and a size that their quota lets in at all."""
    most = ctx.deployment.queue.max_priority
    if spec.priority > most and not actor.admin:
        raise fail("bad_request", field="priority", value=spec.priority, allowed=[f"-10 to {most}"])
    amount = job_records.machine_of(ctx, spec.model_dump()).amount
    over = Usage(ctx.deployment.quotas).hindrance(actor.name, amount, spec.nodes)
    if over is not None:
        is_chips = over.what == "chips"
        raise fail(
            "quota_over",
            field="nodes",
            value=spec.nodes,
            allowed=[],
            needed=spec.nodes * (amount.devices * amount.share_milli / WHOLE if is_chips else 1),
            limit=over.limit,
            what=over.what,
            what_zh="芯片" if is_chips else "节点",
            whose="you" if over.whose == "person" else f"the team {over.name}",
            whose_zh="您" if over.whose == "person" else f"团队 {over.name} ",
        )


def _resume_step(ctx: Context, session: Session, actor: Actor, spec: JobSpec) -> int | None:
    """The step it goes on from; an ended job of the same person that has a complete checkpoint is what is allowed."""
    if spec.resume is None:
        return None
    row = session.get(JobRow, spec.resume)
    if row is None or row.owner != actor.name:
        raise fail("unknown_job", field="resume", value=spec.resume)
    job_keeping.check_there(ctx, row, "resume")
    before = job_records.shown(ctx, session, row)
    if not before.state.is_final:
        raise fail("job_not_ended", field="resume", value=spec.resume, state=before.state)
    if before.checkpoint_step is None:
        raise fail("no_checkpoint", field="resume", value=spec.resume)
    return before.checkpoint_step


def _most(spec: JobSpec, price: int) -> int | None:
    """The most it can cost: its budget, or its deadline at this price; None when it has neither."""
    by_deadline = (
        None if spec.deadline_seconds is None else cost_nano(price, spec.deadline_seconds * SECOND_US)
    )
    return min((most for most in (spec.budget_nano, by_deadline) if most is not None), default=None)


def _workspace(session: Session, actor: Actor, spec: JobSpec) -> str | None:
    """The workspace it is told to: the one whose token sent it, or one of the sender's own that was named."""
    if actor.workspace is not None:
        return actor.workspace
    if spec.workspace is None:
        return None
    owner, name = workspaces.parse_id(spec.workspace)
    actor.check_owner(owner)
    return workspaces.get(session, owner, name).id
