"""The loop that runs jobs: gives the line its turns, starts gangs, watches them, ends what must end.

Intent is in the database before anything is done, and what is seen decides afterwards: control may be killed at any
instant, and the next one finds every gang again by its tree and its folder.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from gearshift.model.errors import GearshiftError
from gearshift.model.job import EndReason, JobSpec, JobState

from gearshift_hub.backends.jobs import JobNotStartedError
from gearshift_hub.control.context import Context
from gearshift_hub.control.reconcile.job_launch import placement
from gearshift_hub.control.reconcile.job_watch import Must, Watch
from gearshift_hub.control.services import images, job_line, job_records, jobs, wait_line

log = logging.getLogger("gearshift.control.jobs")

BUSY_SECONDS = 0.25
WAITING_SECONDS = 1.0
IDLE_SECONDS = 5.0


def plug(ctx: Context) -> None:
    """Register the loop, and what jobs do when people or the deployment go."""
    loop = JobLoop(ctx)
    ctx.hooks.loops["jobs"] = loop.forever
    ctx.hooks.room.append(job_records.part(ctx).bell.set)
    ctx.hooks.shutdown.append(loop.shut_down)
    ctx.hooks.account_deleted.append(loop.forget_person)


class JobLoop:
    """One for all jobs. `turn` looks once at everything; tests call it themselves."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._watch = Watch(ctx)
        self.starting: dict[str, asyncio.Task[None]] = {}
        self.stopping: dict[str, asyncio.Task[None]] = {}
        self._adopted = False
        self._closing = False

    async def forever(self) -> None:
        part = job_records.part(self._ctx)
        while True:
            pause = IDLE_SECONDS
            try:
                pause = await self.turn()
            except Exception:
                log.exception("a look at the jobs failed")
            await self._rest(part.bell, pause)

    async def turn(self) -> float:
        """One look; returns the seconds until the next one is due."""
        if not self._adopted:
            await self._adopt()
        jobs.end_unattended(self._ctx)
        if not self._closing:
            self._give_turns()
        for id in self._live():
            if id not in self.starting:
                await self._look_alone(id)
        return self._pause()

    async def shut_down(self) -> None:
        """End every gang and wait until nothing of it is left; who waits keeps the place in line."""
        self._closing = True
        await self._end_all(self._live(), "shutdown")
        await asyncio.to_thread(job_records.part(self._ctx).backend.close)

    async def forget_person(self, owner: str) -> None:
        """End and forget the jobs of somebody who is deleted; rows stay, for the ledger."""
        with self._ctx.db.transaction() as session:
            ids = job_line.unended(session, owner)
        await self._end_all(list(ids), "deleted")
        with self._ctx.db.transaction() as session:
            every = [row.id for row in job_records.of_owner(session, owner)]
        backend = job_records.part(self._ctx).backend
        await asyncio.to_thread(backend.forget, owner)
        for id in every:
            await asyncio.to_thread(backend.remove, id)
        await asyncio.to_thread(backend.make_room_for_bundle, owner, (), float("inf"), 0, 0)

    # -- starting -------------------------------------------------------------------------------

    def _give_turns(self) -> None:
        """Lease and start whoever's turn it is. What cannot start yet for another reason stands aside."""
        aside = self._not_ready()
        with self._ctx.db.transaction() as session:
            for id, held in job_line.take_turns(self._ctx, session, aside):
                row = job_records.get(session, id)
                now = self._ctx.clock.now()
                job_records.change(
                    self._ctx, session, row, JobState.STARTING, tree=id, started_at=now, note=""
                )
                assert held
                self.starting[id] = asyncio.create_task(self._start(id))

    def _not_ready(self) -> list[str]:
        """Queued jobs whose launch needs something made first (image, operator); told in their note."""
        now = self._ctx.clock.now()
        with self._ctx.db.transaction() as session:
            queued = job_records.queued(session)
            waiting = [row.id for row in queued if row.not_before is not None and row.not_before > now]
            asked = {row.id: JobSpec.read(row.spec) for row in queued if row.id not in waiting}
        for id, spec in asked.items():
            note, refused = self._prepare(spec)
            if note:
                waiting.append(id)
            self._note(id, note, refused)
        return waiting

    def _prepare(self, spec: JobSpec) -> tuple[str, bool]:
        """What is being made, and whether it never can be."""
        try:
            images.require(self._ctx, spec.image)
            return job_records.part(self._ctx).backend.prepare(spec.launch) or "", False
        except JobNotStartedError as error:
            return str(error), True
        except GearshiftError as error:
            return error.message, error.code != "image_not_ready"

    def _note(self, id: str, note: str, refused: bool) -> None:
        with self._ctx.db.transaction() as session:
            row = job_records.get(session, id)
            if JobState(row.state) is not JobState.QUEUED or (note == row.note and not refused):
                return
            if refused:
                self._watch.end(session, row, EndReason.START_FAILED, note=note)
                return
            row.note = note
            job_records.tell(self._ctx, session, row)

    async def _start(self, id: str) -> None:
        try:
            with self._ctx.db.transaction() as session:
                placed = placement(self._ctx, session, job_records.get(session, id))
            await asyncio.to_thread(job_records.part(self._ctx).backend.start, placed)
        except JobNotStartedError as error:
            with self._ctx.db.transaction() as session:
                self._watch.did_not_start(session, job_records.get(session, id), str(error))
        except Exception as error:
            log.exception("job %s did not start", id)
            with self._ctx.db.transaction() as session:
                self._watch.end(
                    session, job_records.get(session, id), EndReason.START_FAILED, note=str(error)
                )
        finally:
            del self.starting[id]
            job_records.part(self._ctx).bell.set()

    async def _adopt(self) -> None:
        """After a start of control: begin again what was recorded and not begun, kill gangs nobody knows."""
        self._adopted = True
        backend = job_records.part(self._ctx).backend
        await asyncio.to_thread(backend.recover)
        with self._ctx.db.transaction() as session:
            live = {row.id: JobState(row.state) for row in job_records.live(session)}
        for tree in await asyncio.to_thread(backend.trees):
            if tree not in live:
                log.warning("killing the gang %s: no live job has it", tree)
                await asyncio.to_thread(backend.kill, tree)
        for id, state in live.items():
            seen = await asyncio.to_thread(backend.look, id, id)
            if state is JobState.STARTING and not seen.alive and seen.status is None:
                self.starting[id] = asyncio.create_task(self._start(id))

    # -- watching and ending --------------------------------------------------------------------

    async def _look_alone(self, id: str) -> None:
        """A fault with one person's job keeps nobody else's from being looked at."""
        try:
            await self._look(id)
        except Exception:
            log.exception("job %s could not be looked at", id)

    async def _look(self, id: str) -> None:
        must = await self._watch.look(id)
        if must is not None and id not in self.stopping:
            self.stopping[id] = asyncio.create_task(self._stop(id, must))

    async def _stop(self, id: str, must: Must) -> None:
        backend = job_records.part(self._ctx).backend
        try:
            await asyncio.to_thread(backend.stop, id, id, must.grace_seconds, must.notice)
        except Exception:
            log.exception("job %s could not be stopped; it is tried again", id)
            await self._ctx.clock.sleep(WAITING_SECONDS)
        finally:
            del self.stopping[id]
            job_records.part(self._ctx).bell.set()

    async def _end_all(self, ids: list[str], by: str) -> None:
        for task in [task for id, task in self.starting.items() if id in ids]:
            with suppress(asyncio.CancelledError):
                await task
        with self._ctx.db.transaction() as session:
            for id in ids:
                job_records.cancel(self._ctx, session, job_records.get(session, id), by)
        todo = set(ids)
        while todo:
            for id in todo.intersection(self._live()):
                await self._look(id)
            todo.intersection_update(self._live())
            if tasks := [task for id, task in self.stopping.items() if id in todo]:
                await asyncio.wait(tasks)

    # -- pace -----------------------------------------------------------------------------------

    def _live(self) -> list[str]:
        with self._ctx.db.transaction() as session:
            return [row.id for row in job_records.live(session)]

    def _pause(self) -> float:
        with self._ctx.db.transaction() as session:
            if job_records.live(session):
                return BUSY_SECONDS
            somebody_waits = job_records.queued(session) or wait_line.waiting(self._ctx, session)
            return WAITING_SECONDS if somebody_waits else IDLE_SECONDS

    async def _rest(self, bell: asyncio.Event, seconds: float) -> None:
        """Until the bell rings, at most `seconds` of the clock."""
        ring = asyncio.ensure_future(bell.wait())
        pause = asyncio.ensure_future(self._ctx.clock.sleep(seconds))
        try:
            await asyncio.wait({ring, pause}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ring.cancel()
            pause.cancel()
            bell.clear()
