"""Routes on the internal socket, for hub and supervisor; the socket is 0600 and that is the check."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from gearshift.model.launch import LaunchPlan
from gearshift.model.operation import Operation
from gearshift.model.record import Instant, Record
from pydantic import Field
from sqlalchemy import text

from gearshift_hub.control.auth import context
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import hub_doors
from gearshift_hub.control.operations.engine import Engine
from gearshift_hub.control.operations.hub_doors import ServerReport
from gearshift_hub.control.operations.shutdown import shut_down
from gearshift_hub.control.routes.ledger import Integrity, integrity
from gearshift_hub.control.services import jobs

router = APIRouter(prefix="/internal", tags=["internal"])


class Launch(Record):
    """Asked by a spawner."""

    user: str
    workspace: str
    user_options: dict[str, Any] = Field(default_factory=dict)
    operation: str | None = None


class Stop(Record):
    """A stop through the hub's own door."""

    user: str
    workspace: str


class Begun(Record):
    """The operation that was recorded."""

    operation: str


class Health(Record):
    """That control works, and since when."""

    ok: bool
    now: Instant
    closing: bool


class Ended(Record):
    """How many workspaces were stopped."""

    stopped: int
    unconfirmed: list[str]


async def engine_of(request: Request) -> Engine:
    engine = request.app.state.ctx.engine
    assert isinstance(engine, Engine)
    return engine


@router.post("/launches")
async def plan_launch(
    asked: Launch, ctx: Context = Depends(context), engine: Engine = Depends(engine_of)
) -> LaunchPlan:
    """What to start."""
    return await hub_doors.launch(
        ctx, engine, asked.user, asked.workspace, asked.user_options, asked.operation
    )


@router.post("/reports")
async def take_report(told: ServerReport, ctx: Context = Depends(context)) -> dict[str, bool]:
    """What became of a server."""
    hub_doors.report(ctx, told)
    return {"ok": True}


@router.post("/stops")
async def record_stop(
    asked: Stop, ctx: Context = Depends(context), engine: Engine = Depends(engine_of)
) -> Begun:
    """Record a stop that the hub is about to carry out; answers when kernel state is saved."""
    op: Operation = await hub_doors.own_stop(ctx, engine, asked.user, asked.workspace)
    return Begun(operation=op.id)


@router.post("/shutdown")
async def end_everything(ctx: Context = Depends(context)) -> Ended:
    """Save kernel state, stop all workspaces and jobs, close all intervals; nothing new is started from here on."""
    stopped, unconfirmed = await shut_down(ctx)
    return Ended(stopped=stopped, unconfirmed=unconfirmed)


@router.post("/jobs/{job}/notice")
async def take_job_away(job: str, ctx: Context = Depends(context)) -> dict[str, bool]:
    """The machines of a job are about to be taken away (spot, maintenance): its ranks get their grace to save."""
    return {"told": jobs.take_away(ctx, job)}


@router.get("/health")
async def health(ctx: Context = Depends(context)) -> Health:
    """That the database answers too."""
    with ctx.db.transaction() as session:
        session.execute(text("SELECT 1"))
    return Health(ok=True, now=ctx.clock.now(), closing=ctx.closing)


@router.get("/ledger/verify")
async def verify_ledger(ctx: Context = Depends(context)) -> Integrity:
    """Recompute all lines, with every fault."""
    return integrity(ctx, with_faults=True)
