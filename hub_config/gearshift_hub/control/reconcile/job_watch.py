"""One look at one gang: what is seen becomes state, events and money; what must end is named.

The interval opens when all ranks were seen running and closes when the tree is gone. Times are ours: what the
submitter's files say about time is believed only where it lies between what we saw ourselves.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gearshift.model.job import EndReason, JobSpec, JobState
from sqlalchemy.orm import Session

from gearshift_hub.backends.jobs import Seen
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.jobs import JobRow
from gearshift_hub.control.reconcile.job_use import Meter
from gearshift_hub.control.services import job_records, job_retries, job_status, jobs, leases, ledger
from gearshift_hub.control.services.job_status import Said

MONEY_SECONDS = 5.0
COMPUTES_SECONDS = 10.0
"""Of processor time: no supervisor uses that much before its ranks run."""
ROUGH = ((3600.0, 5.0), (600.0, 2.0), (0.0, 1.0))
"""Seconds a job has run -> seconds between two events that only say *there is more to read*."""


@dataclass(frozen=True)
class Must:
    """How a gang is to be ended: with which grace, and whether it is only told that its machine goes away."""

    grace_seconds: float
    notice: bool


@dataclass
class _Memory:
    """What the watch knows of one job between two looks."""

    beat: float = -1.0
    beat_seen: float = 0.0
    told: float = -1e9
    log_bytes: int = 0
    money: float = -1e9
    since: float = 0.0
    meter: Meter = field(default_factory=Meter)


class Watch:
    """Looks at jobs; decides nothing about the line."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._memory: dict[str, _Memory] = {}
        self._began = ctx.clock.now()

    async def look(self, id: str) -> Must | None:
        """Look once; what must be done with the gang now."""
        seen = await asyncio.to_thread(job_records.part(self._ctx).backend.look, id, id)
        if not seen.alive or self._due(id):
            await self._tell_more(id)
        with self._ctx.db.transaction() as session:
            row = job_records.get(session, id)
            if JobState(row.state).is_final:
                return None
            said = self._with_use(row, seen)
            if not seen.alive:
                self._over(session, row, seen, said)
                return None
            self._running(session, row, said)
            self._computing(session, row, seen)
            if row.ending is None:
                row.ending = self._must_end(session, row, seen)
            return self._how(row) if row.ending is not None else None

    def end(
        self, session: Session, row: JobRow, reason: EndReason, *, note: str = "", at: datetime | None = None
    ) -> None:
        """The job is over: interval closed, lease given back, told. Over already is success."""
        if JobState(row.state).is_final:
            return
        now = at or self._ctx.clock.now()
        if JobState(row.state) is JobState.CANCELLING:
            reason = EndReason.CANCELLED
        elif reason is EndReason.CANCELLED:
            job_records.change(self._ctx, session, row, JobState.CANCELLING)
        ledger.close_interval(session, job_records.subject(row.id), now)
        row.cost_nano = ledger.cost_of(session, job_records.subject(row.id), now)
        leases.give_back(self._ctx, session, job=row.id)
        job_records.change(
            self._ctx, session, row, reason.state, reason=reason, ended_at=now, note=note[:2000] or row.note
        )
        self._memory.pop(row.id, None)
        job_records.part(self._ctx).bell.set()

    def did_not_start(self, session: Session, row: JobRow, note: str) -> None:
        """The box could not start it: it waits for another try, or has failed."""
        if not self._again(session, row, None, EndReason.START_FAILED):
            self.end(session, row, EndReason.START_FAILED, note=note)

    # -- again ----------------------------------------------------------------------------------

    def _again(self, session: Session, row: JobRow, said: Said | None, reason: EndReason) -> bool:
        """Back to its place in line, if this is tried again and its budget lasts; machine and meter are given back."""
        spec, word = JobSpec.read(row.spec), reason.counts_as
        if word is None or JobState(row.state) is JobState.CANCELLING:
            return False
        status = job_retries.status_after(said, reason, word, self._ctx.clock.now())
        tries = int(row.retried.get(word, 0)) + 1
        if max(tries, job_retries.counted(status, word)) > spec.budget_of(word):
            return False
        now = self._ctx.clock.now()
        ledger.close_interval(session, job_records.subject(row.id), now)
        leases.give_back(self._ctx, session, job=row.id)
        job_records.change(
            self._ctx,
            session,
            row,
            JobState.QUEUED,
            status=status,
            retried={**row.retried, word: tries},
            not_before=now + job_retries.pause(word, tries),
            note=f"{word}: try {tries} of {spec.budget_of(word)} begins soon",
            ending=None,
            tree=None,
            started_at=None,
            running_at=None,
        )
        self._memory.pop(row.id, None)
        job_records.part(self._ctx).bell.set()
        return True

    # -- alive ----------------------------------------------------------------------------------

    def _with_use(self, row: JobRow, seen: Seen) -> Said | None:
        """What the supervisor says, with what the box measures: of that its own word counts for nothing."""
        said = job_status.read(seen.status, JobSpec.read(row.spec).world_size)
        if said is None:
            return None
        now, machine = self._ctx.clock.monotonic(), job_records.machine_of(self._ctx, row.spec)
        use = self._of(row.id).meter.take(seen, machine, row.spec["nodes"], now) if seen.alive else None
        return said.model_copy(update={"use": use})

    def _running(self, session: Session, row: JobRow, said: Said | None) -> None:
        """Take over what the supervisor says; the first time all ranks run, charging begins."""
        if said is None:
            return
        status = said.model_dump(mode="json")
        changed = status != row.status
        row.status = status
        if JobState(row.state) is JobState.STARTING and said.state != "starting":
            self._charge(session, row, self._ctx.clock.now())
            job_records.change(self._ctx, session, row, JobState.RUNNING, note="")
        elif changed:
            row.note = said.note or row.note
            job_records.tell(self._ctx, session, row)

    def _computing(self, session: Session, row: JobRow, seen: Seen) -> None:
        """Its files say that it starts, or say nothing, and yet it computes: the files are its submitter's, so the
        box's own measure counts. What was used so far is charged as well.
        """
        if JobState(row.state) is not JobState.STARTING or (seen.cpu_seconds or 0.0) < COMPUTES_SECONDS:
            return
        self._charge(session, row, row.started_at or self._ctx.clock.now())
        job_records.change(self._ctx, session, row, JobState.RUNNING, note="")

    def _charge(self, session: Session, row: JobRow, at: datetime) -> None:
        row.running_at = at
        machine = job_records.machine_of(self._ctx, row.spec)
        ledger.open_interval(
            session,
            owner=row.owner,
            subject=job_records.subject(row.id),
            machine=machine,
            price_per_hour_nano=row.price_per_hour_nano,
            at=at,
            device_milli=machine.device_milli * row.spec["nodes"],
        )

    def _must_end(self, session: Session, row: JobRow, seen: Seen) -> EndReason | None:
        memory, deadlines = self._of(row.id), self._ctx.deployment.deadlines
        now = self._ctx.clock.monotonic()
        if seen.beat != memory.beat:
            memory.beat, memory.beat_seen = seen.beat, now
        if JobState(row.state) is JobState.STARTING:
            return EndReason.DID_NOT_JOIN if now - memory.since > deadlines.start else None
        if now - memory.beat_seen > deadlines.heartbeat:
            return EndReason.LOST
        if now - memory.money >= MONEY_SECONDS:
            memory.money = now
            return self._out_of_money(session, row)
        return None

    def _out_of_money(self, session: Session, row: JobRow) -> EndReason | None:
        now = self._ctx.clock.now()
        if row.cap_nano is not None:
            cost = ledger.cost_of(session, job_records.subject(row.id), now)
            until_gone = int(MONEY_SECONDS) + int(row.spec["grace_seconds"]) + 1
            ahead = row.price_per_hour_nano * until_gone // 3600
            if cost + ahead >= row.cap_nano:
                row.note = "The cap on its cost was reached."
                return EndReason.BUDGET
        if row.price_per_hour_nano > 0 and ledger.balance(session, row.owner, now) <= 0:
            row.note = "The balance is used up."
            return EndReason.BUDGET
        return None

    def _how(self, row: JobRow) -> Must:
        """A supervisor that gives no sign of life gets no grace."""
        grace = 0.0 if row.ending == EndReason.LOST else float(row.spec["grace_seconds"])
        return Must(grace, row.ending == EndReason.INTERRUPTED)

    # -- over -----------------------------------------------------------------------------------

    def _over(self, session: Session, row: JobRow, seen: Seen, said: Said | None) -> None:
        if said is not None:
            row.status = said.model_dump(mode="json")
        note = said.note if said else f"The supervisor ended with {seen.exit_code} before its first word."
        reason = self._why(row, said)
        ran = said is not None and said.ranks and reason is not EndReason.DID_NOT_JOIN
        if row.running_at is None and row.started_at is not None and ran:
            self._charge(session, row, row.started_at)
        last = said or job_status.read(row.status or None, JobSpec.read(row.spec).world_size)
        if not self._again(session, row, last, reason):
            self.end(session, row, reason, note=note, at=self._end_time(row, said))

    def _why(self, row: JobRow, said: Said | None) -> EndReason:
        if row.ending is not None:
            return EndReason(row.ending)
        told = job_status.reason_of(said) if said is not None else None
        if told is not None:
            return told
        began = row.running_at is not None or (said is not None and said.ranks)
        return EndReason.LOST if began else EndReason.START_FAILED

    def _end_time(self, row: JobRow, said: Said | None) -> datetime:
        """Now; for a gang that ended while control was away, when it says it did, if that can be."""
        now = self._ctx.clock.now()
        away = now - self._began < timedelta(seconds=MONEY_SECONDS)
        if not away or said is None or said.ended_at is None:
            return now
        return max(row.running_at or row.created_at, min(now, said.ended_at))

    # -- telling --------------------------------------------------------------------------------

    def _of(self, id: str) -> _Memory:
        now = self._ctx.clock.monotonic()
        return self._memory.setdefault(id, _Memory(beat_seen=now, since=now))

    def _due(self, id: str) -> bool:
        memory, now = self._of(id), self._ctx.clock.monotonic()
        pause = next(pause for age, pause in ROUGH if now - memory.since >= age)
        return now - memory.told >= pause

    async def _tell_more(self, id: str) -> None:
        """Events that there are new figures and new lines; readers fetch them by offset."""
        memory = self._of(id)
        memory.told = self._ctx.clock.monotonic()
        figures = await jobs.read_metrics(self._ctx, id)
        with self._ctx.db.transaction() as session:
            row = job_records.get(session, id)
            spec, attempt = JobSpec.read(row.spec), int(row.status.get("attempt", 0))
        backend = job_records.part(self._ctx).backend
        size = await asyncio.to_thread(backend.log_bytes, id, attempt, spec.world_size)
        with self._ctx.db.transaction() as session:
            row = job_records.get(session, id)
            if figures:
                row.metrics_last = job_records.part(self._ctx).series[id].last
                data = {"job": id, "metrics_last": row.metrics_last}
                self._ctx.events.add(session, "job.metrics", data, owner=row.owner)
            if size != memory.log_bytes:
                memory.log_bytes = size
                self._ctx.events.add(session, "job.log", {"job": id, "attempt": attempt}, owner=row.owner)
