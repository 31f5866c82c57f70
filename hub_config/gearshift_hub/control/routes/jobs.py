"""Routes of jobs: what there is, logs, figures, the result, and the bundles that are sent before a plan is asked for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse
from gearshift.model.errors import fail
from gearshift.model.record import Input, Record
from gearshift.model.units import format_bytes

from gearshift_hub.control.auth import Actor, context, may
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import job_shapes, jobs
from gearshift_hub.control.services.job_records import JobDetails
from gearshift_hub.control.services.jobs import LogPage

router = APIRouter(tags=["jobs"])
CHUNK = 1 << 20


class Sent(Record):
    """A bundle that was kept; `code` of a job's spec names it."""

    sha256: str
    size_bytes: int


class Attendance(Input):
    """What the cell of an attached job tells every few seconds."""

    over: bool = False


@router.get("/jobs")
async def list_jobs(
    workspace: str | None = None,
    plan: str | None = None,
    actor: Actor = Depends(may.read),
    ctx: Context = Depends(context),
) -> list[JobDetails]:
    """The caller's jobs, newest first; `plan` finds the one that a confirmation made."""
    return jobs.listed(ctx, actor, workspace, plan)


@router.post("/jobs/bundles", status_code=201)
async def send_bundle(
    request: Request, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> Sent:
    """Keep the raw body under its SHA-256."""
    data = await _body(request, ctx.deployment.limits.bundle_bytes)
    sha256 = await jobs.keep_bundle(ctx, actor.name, data)
    return Sent(sha256=sha256, size_bytes=len(data))


@router.get("/jobs/{job}")
async def show_job(job: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)) -> JobDetails:
    """One job with its ranks, first failure, place in line and cost so far."""
    return job_shapes.one(ctx, actor, job)


@router.get("/jobs/{job}/logs")
async def read_log(
    job: str,
    rank: int = 0,
    offset: int = 0,
    attempt: int | None = None,
    actor: Actor = Depends(may.read),
    ctx: Context = Depends(context),
) -> LogPage:
    """At most 64 KiB of a rank's log from `offset` on; a negative offset counts from the end."""
    return await jobs.log_page(ctx, actor, job, rank, offset, attempt)


@router.get("/jobs/{job}/metrics")
async def read_metrics(
    job: str, points: int = 600, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> list[dict[str, Any]]:
    """The curve of rank 0, at most 600 points."""
    return await jobs.metrics(ctx, actor, job, points)


@router.get("/jobs/{job}/result")
async def read_result(
    job: str, actor: Actor = Depends(may.read), ctx: Context = Depends(context)
) -> StreamingResponse:
    """What rank 0 handed back, as the file it wrote."""
    descriptor, size = jobs.open_result(ctx, actor, job)
    headers = {"Content-Length": str(size), "Content-Disposition": f'attachment; filename="{job}.result.zip"'}
    return StreamingResponse(_chunks(descriptor, size), media_type="application/zip", headers=headers)


@router.post("/jobs/{job}/attendance", status_code=204)
async def attend(
    job: str, body: Attendance, actor: Actor = Depends(may.propose), ctx: Context = Depends(context)
) -> None:
    """A sign of life from the cell that launched an attached job; `over` ends the job, as its launch said."""
    jobs.attend(ctx, actor, job, body.over)


async def _body(request: Request, limit: int) -> bytes:
    """The body, refused as soon as it is larger than it may be."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > limit:
            told = int(request.headers.get("content-length", len(data)))
            raise fail(
                "too_large", field="bundle", value=told, size=format_bytes(told), limit=format_bytes(limit)
            )
    if not data:
        raise fail("bad_request", field="bundle", value=0, problem="the body is empty")
    return bytes(data)


async def _chunks(descriptor: int, size: int) -> AsyncIterator[bytes]:
    try:
        done = 0
        while done < size:
            piece = await asyncio.to_thread(os.pread, descriptor, min(CHUNK, size - done), done)
            if not piece:
                return
            done += len(piece)
            yield piece
    finally:
        os.close(descriptor)
