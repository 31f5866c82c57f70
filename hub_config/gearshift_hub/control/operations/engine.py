"""The engine: drives each operation's journal forward or back, survives a kill at any step, keeps deadlines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from gearshift.model.errors import ERRORS, GearshiftError, fail, from_body
from gearshift.model.operation import (
    WAIT,
    Cancelled,
    Event,
    Operation,
    OperationKind,
    OperationState,
    StepDone,
    StepFailed,
)

from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.hub import HubDownError
from gearshift_hub.control.operations import journal
from gearshift_hub.control.operations.joining import decide
from gearshift_hub.control.steps import Run, StepWork

log = logging.getLogger("gearshift.operations")

HUB_PAUSE_S = 0.5
"""Between two tries while the hub does not answer; forward, the step's own deadline ends the trying."""


class Engine:
    """One task per operation that has not ended; all state is in the journal."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._drivers: dict[str, asyncio.Task[None]] = {}
        self._work: dict[str, asyncio.Task[dict[str, Any] | None]] = {}
        self._changed: dict[str, asyncio.Event] = {}
        self._closed = False

    async def submit(
        self,
        kind: OperationKind,
        owner: str,
        name: str | None,
        *,
        actor: str,
        params: Mapping[str, Any] | None = None,
    ) -> Operation:
        """Begin an operation, or join the one that does the same already; raises what its first steps raise."""
        workspace = f"{owner}/{name}" if name is not None else None
        with self._ctx.db.transaction() as session:
            decision = decide(session, kind, workspace, params or {})
            joined = decision.join
            op = joined or journal.enter(
                self._ctx,
                session,
                kind,
                owner,
                workspace,
                actor=actor,
                params=params or {},
                after=decision.after,
            )
        for other in decision.cancel:
            self._turn_back(other, actor)
        return op if joined else await self._begin(op)

    async def cancel(self, operation: str, *, by: str) -> Operation:
        """Go back while possible; `too_late` after that. Cancelling twice is one cancel."""
        with self._ctx.db.transaction() as session:
            op = journal.load(session, operation).op
            event = Cancelled(by=by, at=self._ctx.clock.now())
            turned = journal.apply(self._ctx, session, operation, event)
        if turned != op:
            self._interrupt(operation)
        return turned

    async def wait(self, operation: str) -> Operation:
        """The operation once it has ended."""
        run = await self.until(operation, lambda _run: False)
        return run.op

    async def until(self, operation: str, holds: Callable[[Run], bool]) -> Run:
        """The operation once this holds of it, or once it has ended."""
        while True:
            run = self.read(operation)
            if holds(run) or run.op.state.is_final:
                return run
            await self._changed.setdefault(operation, asyncio.Event()).wait()

    async def past(self, operation: str, step: str) -> Operation:
        """The operation once this step is behind it, or once it has ended."""
        run = await self.until(
            operation, lambda run: any(one.name == step and one.ended_at for one in run.op.steps)
        )
        return run.op

    def read(self, operation: str) -> Run:
        with self._ctx.db.transaction() as session:
            return journal.load(session, operation)

    def resume(self) -> int:
        """Go on with everything that has not ended and that nobody drives; returns how many."""
        with self._ctx.db.transaction() as session:
            unfinished = [id for id in journal.unfinished(session) if id not in self._drivers]
            found = [journal.load(session, id).op for id in unfinished]
        for op in found:
            self._drive(op)
        return len(found)

    async def settle(self) -> None:
        """Until no operation is at work."""
        while drivers := [task for task in self._drivers.values() if not task.done()]:
            await asyncio.wait(drivers)

    async def close(self) -> None:
        """Let go of everything without writing a word: the journal stands as it is, for the next engine."""
        self._closed = True
        tasks = [*self._drivers.values(), *self._work.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _begin(self, op: Operation) -> Operation:
        op = await self._instant(op)
        self._drive(op)
        refused = op.direction == "back" or op.state is OperationState.FAILED
        if refused and op.error is not None:
            await self.wait(op.id)
            raise from_body({"error": op.error}, ERRORS[op.error["code"]].status)
        return op

    def _drive(self, op: Operation) -> None:
        if op.state.is_final or self._closed or op.id in self._drivers:
            return
        task = asyncio.ensure_future(self._go(op.id))
        self._drivers[op.id] = task
        task.add_done_callback(lambda done: self._gone(op.id, done))

    def _gone(self, id: str, task: asyncio.Task[None]) -> None:
        self._drivers.pop(id, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("operation %s was left where it stands", id, exc_info=task.exception())

    async def _go(self, id: str) -> None:
        run = self.read(id)
        while not run.op.state.is_final:
            event = await self._step(run)
            if event is not None:
                self._apply(run, event)
            run = self.read(id)

    async def _instant(self, op: Operation) -> Operation:
        """The leading steps that wait for nothing."""
        instant = self._ctx.flows[op.kind].instant
        while op.direction == "forward" and op.step in instant:
            run = self.read(op.id)
            event = await self._step(run)
            if event is not None:
                self._apply(run, event)
            op = self.read(op.id).op
        return op

    async def _step(self, run: Run) -> Event | None:
        """Do or undo the step at work; None when the operation turned meanwhile."""
        step = run.op.step
        assert step is not None
        task = asyncio.ensure_future(self._bounded(run, step))
        self._work[run.id] = task
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._work.pop(run.id, None)
        if task.cancelled():
            return None
        return self._outcome(run, step, task)

    def _outcome(self, run: Run, step: str, task: asyncio.Task[dict[str, Any] | None]) -> Event:
        now = self._ctx.clock.now()
        error = task.exception()
        if error is None:
            note = task.result()
            result = note.pop("result", None) if note else None
            return StepDone(step=step, at=now, note=note or None, result=result)
        if not isinstance(error, Exception):
            raise error
        return StepFailed(step=step, at=now, error=_told(run, step, error).body()["error"])

    async def _bounded(self, run: Run, step: str) -> dict[str, Any] | None:
        if step == WAIT:
            return await self._wait_turn(run) if run.op.direction == "forward" else None
        flow = self._ctx.flows[run.op.kind]
        work = flow.steps[step]
        seconds = work.seconds(run)
        try:
            if run.op.direction == "back":
                return await self._undo(run, work, seconds)
            return await within(self._ctx.clock, seconds, self._do(run, work))
        except DeadlineError:
            raise flow.late(run, step, seconds) from None

    async def _do(self, run: Run, work: StepWork) -> dict[str, Any] | None:
        while True:
            try:
                return await work.do(run)
            except HubDownError:
                await self._ctx.clock.sleep(HUB_PAUSE_S)

    async def _undo(self, run: Run, work: StepWork, seconds: float) -> dict[str, Any] | None:
        """The way back has nowhere to turn to: it waits for the hub as long as the hub is away."""
        while work.undo is not None:
            try:
                return await within(self._ctx.clock, seconds, work.undo(run))
            except HubDownError:
                await self._ctx.clock.sleep(HUB_PAUSE_S)
        return None

    async def _wait_turn(self, run: Run) -> dict[str, Any] | None:
        """Until the operation before this one has ended, however it ended."""
        with self._ctx.db.transaction() as session:
            after = journal.waits_for(session, run.id)
        if after is not None:
            await self.wait(after)
        return None

    def _apply(self, run: Run, event: Event) -> None:
        with self._ctx.db.transaction() as session:
            journal.apply(self._ctx, session, run.id, event, direction=run.op.direction)
        self.tell(run.id)

    def _turn_back(self, operation: str, by: str) -> None:
        """Cancel if that is still possible; what cannot go back any more goes on to its end."""
        try:
            with self._ctx.db.transaction() as session:
                journal.apply(self._ctx, session, operation, Cancelled(by=by, at=self._ctx.clock.now()))
        except GearshiftError:
            return
        self._interrupt(operation)

    def tell(self, operation: str) -> None:
        """Wake whoever waits for a change of this operation."""
        changed = self._changed.pop(operation, None)
        if changed is not None:
            changed.set()

    def _interrupt(self, operation: str) -> None:
        work = self._work.get(operation)
        if work is not None:
            work.cancel()
        self.tell(operation)


def _told(run: Run, step: str, error: Exception) -> GearshiftError:
    if isinstance(error, GearshiftError):
        return error
    log.error("operation %s: step %s", run.id, step, exc_info=error)
    return fail("step_failed", step=step, cause="a fault of ours, which was logged")
