"""Jobs as their routes and the box see them: the list, logs, curves, the result; and how they plug into control."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.job import JobSpec, JobState
from gearshift.model.record import Record
from gearshift.model.units import format_bytes
from sqlalchemy import select

from gearshift_hub.backends.jobs import Page
from gearshift_hub.backends.local.jobs import LocalJobs
from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.services import job_keeping, job_line, job_plans, job_records, job_shapes
from gearshift_hub.control.services.job_records import (
    JobDetails,
    JobsPart,
    cancel,
    part,
    shown,
    unended,
    visible,
)
from gearshift_hub.control.services.job_series import READ_BYTES, Series

LOG_BYTES = 1 << 16
LISTED = 200
BUNDLES_KEPT = timedelta(days=7)
UNATTENDED_SECONDS = 20.0
"""Four signs of life that did not come."""


class LogPage(Record):
    """A piece of one rank's log; ask again from `offset`. `done`: nothing more will come."""

    job: str
    rank: int
    attempt: int
    offset: int
    text: str
    size_bytes: int
    """How long the log is now."""
    done: bool


def plug(ctx: Context) -> None:
    """Register the backend and the plan kinds `job` and `cancel_job`."""
    if not ctx.backend.parts.has(JobsPart):
        private = ctx.backend.box.able().uid_per_person
        warm_seconds = 60 * ctx.deployment.jobs.warm_minutes
        backend = LocalJobs(ctx.home, sys.executable, private, warm_seconds=warm_seconds)
        ctx.backend.parts.put(JobsPart, JobsPart(backend))
    job_plans.register(ctx)
    job_shapes.register(ctx)


def attend(ctx: Context, actor: Actor, job: str, over: bool) -> None:
    """The cell that launched an attached job is there; `over`: it was interrupted, and the job ends."""
    with ctx.db.transaction() as session:
        row = visible(session, actor, job)
        if row.owner != actor.name or not row.spec.get("attached"):
            raise fail("not_attached", field="job", value=job)
        part(ctx).attended[job] = ctx.clock.monotonic()
        if over:
            cancel(ctx, session, row, actor.name)
            part(ctx).bell.set()


def end_unattended(ctx: Context) -> None:
    """End attached jobs whose cell is gone: its kernel was restarted or killed. A control that comes back gives time."""
    now, before = ctx.clock.monotonic(), part(ctx).attended
    with ctx.db.transaction() as session:
        attached = {row.id: row for row in unended(session) if row.spec.get("attached")}
        part(ctx).attended = {id: before.get(id, now) for id in attached}
        for id, told in part(ctx).attended.items():
            if now - told > UNATTENDED_SECONDS:
                cancel(ctx, session, attached[id], "the end of its kernel")


def take_away(ctx: Context, job: str) -> bool:
    """The machines of a job go away; false when it holds none, or is being ended already."""
    with ctx.db.transaction() as session:
        told = job_records.take_away(ctx, session, job_records.get(session, job))
    part(ctx).bell.set()
    return told


def listed(ctx: Context, actor: Actor, workspace: str | None, plan: str | None) -> list[JobDetails]:
    """The caller's jobs, newest first; an admin sees everybody's."""
    query = select(JobRow).order_by(JobRow.number.desc()).limit(LISTED)
    if not actor.admin:
        query = query.where(JobRow.owner == actor.name)
    if workspace is not None:
        query = query.where(JobRow.workspace == workspace)
    if plan is not None:
        query = query.where(JobRow.plan == plan)
    with ctx.db.transaction() as session:
        places = job_line.places(ctx, session)
        return [shown(ctx, session, row, places.get(row.id)) for row in session.scalars(query)]


async def log_page(
    ctx: Context, actor: Actor, job: str, rank: int, offset: int, attempt: int | None
) -> LogPage:
    """The next piece of a rank's log, cut between characters."""
    row = _with_files(ctx, actor, job)
    last = int(row.status.get("attempt", 0))
    number = last if attempt is None else attempt
    _check_in("rank", rank, JobSpec.read(row.spec).world_size - 1)
    _check_in("attempt", number, last)
    page = await asyncio.to_thread(part(ctx).backend.log, job, number, rank, offset, LOG_BYTES)
    final = JobState(row.state).is_final
    if page is None:
        page = Page(b"", max(0, offset), 0)
    over = page.cut or (final and page.offset + len(page.data) >= page.size)
    data = page.data if over else _whole_characters(page.data)
    end = page.offset + len(data)
    return LogPage(
        job=job,
        rank=rank,
        attempt=number,
        offset=end,
        text=_gap(page.left_out) + data.decode(errors="replace"),
        size_bytes=page.size,
        done=final and end >= page.size,
    )


async def metrics(ctx: Context, actor: Actor, job: str, points: int) -> list[dict[str, Any]]:
    """The curve of rank 0."""
    _with_files(ctx, actor, job)
    await read_metrics(ctx, job)
    return part(ctx).series[job].points(points)


async def read_metrics(ctx: Context, job: str) -> bool:
    """Take what is new of a job's figures; true when there was something."""
    series = part(ctx).series.setdefault(job, Series())
    found = False
    while True:
        page = await asyncio.to_thread(part(ctx).backend.metrics, job, 0, series.offset, READ_BYTES)
        if page is None or page.offset != series.offset:
            return found
        found = series.take(page) or found
        if len(page.data) < READ_BYTES:
            return found


async def forget_files(ctx: Context) -> None:
    """Remove the folders of jobs that ended longer ago than files are kept."""
    with ctx.db.transaction() as session:
        due = job_keeping.due(ctx, session)
    for job in due:
        await asyncio.to_thread(part(ctx).backend.remove, job)
        part(ctx).series.pop(job, None)
        with ctx.db.transaction() as session:
            job_records.get(session, job).files_gone_at = ctx.clock.now()


async def keep_bundle(ctx: Context, owner: str, data: bytes) -> str:
    """Keep what a person sent, within what one person may have here; its SHA-256."""
    await tidy_bundles(ctx, owner, coming=len(data))
    return await asyncio.to_thread(part(ctx).backend.save_bundle, owner, data)


async def tidy_bundles(ctx: Context, owner: str, coming: int = 0) -> None:
    """Drop bundles by the rule of `bundles_size`."""
    with ctx.db.transaction() as session:
        rows = job_records.of_owner(session, owner)
        needed = {str(row.spec["code"]) for row in rows if row.state in (JobState.QUEUED, JobState.STARTING)}
    sent_before = (ctx.clock.now() - BUNDLES_KEPT).timestamp()
    limit = ctx.deployment.limits.bundles_bytes
    await asyncio.to_thread(part(ctx).backend.make_room_for_bundle, owner, needed, sent_before, limit, coming)


def open_result(ctx: Context, actor: Actor, job: str) -> tuple[int, int]:
    """A descriptor of what rank 0 handed back, and its size; the caller closes it."""
    _with_files(ctx, actor, job)
    found = part(ctx).backend.open_result(job)
    if found is None:
        raise fail("not_found", field="job", value=f"{job}/result")
    return found


def _with_files(ctx: Context, actor: Actor, job: str) -> JobRow:
    with ctx.db.transaction() as session:
        row = visible(session, actor, job)
        job_keeping.check_there(ctx, row)
        return row


def _gap(left_out: int) -> str:
    """A log belongs to no page, so in both languages."""
    if not left_out:
        return ""
    size = format_bytes(left_out)
    return f"\n[… {size} of this log were not kept … 此处 {size} 日志未保留 …]\n"


def _check_in(field: str, value: int, last: int) -> None:
    if not 0 <= value <= last:
        allowed = [f"0-{last}"]
        raise fail("bad_request", field=field, value=value, allowed=allowed, problem=f"no such {field}")


def _whole_characters(data: bytes) -> bytes:
    """Without the beginning of a character whose rest has not been written yet."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            length = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
    return data
