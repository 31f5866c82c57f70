"""The stop: save, stop, close, release. Legal in every state; stopping what is gone is success."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.kept_state import StateKind
from gearshift.model.operation import OperationState
from gearshift.model.units import from_iso, to_iso
from gearshift.model.workspace import WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.operations.settling import close, free, row_of, seen_last, settle
from gearshift_hub.control.operations.stale_hold import past_stale_hold
from gearshift_hub.control.operations.switched_server import kernels_s
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import states, workspaces
from gearshift_hub.control.steps import Flow, Run, StepWork

log = logging.getLogger("gearshift.operations")

AFTER_TERM_S = 12.0
"""What the hub needs beyond the polite stop: kill, confirm, routes."""


def flow(ctx: Context) -> Flow:
    """The steps of a stop, on this control."""
    stop = _Stop(ctx)
    deadlines = ctx.deployment.deadlines
    return Flow(
        steps={
            "save": StepWork(stop.save, seconds=lambda _run: deadlines.save()),
            "stop": StepWork(stop.stop, seconds=lambda _run: deadlines.term + AFTER_TERM_S),
            "close": StepWork(stop.close),
            "release": StepWork(stop.release),
        },
        begin=stop.begin,
        queued=stop.queued,
        end=stop.end,
        late=stop.late,
    )


class _Stop:
    """Parameters: `reason`. Data: `saved`, `stopped_at`."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def begin(self, run: Run, session: Session) -> None:
        row = row_of(session, run)
        if not WorkspaceState(row.state).holds_machine:
            return
        reason = row.reason if row.reason == "stopping_then_starting" else _reason(run)
        workspaces.move(self._ctx, session, row, WorkspaceState.STOPPING, reason=reason, operation=run.id)

    def queued(self, run: Run, session: Session) -> None:
        """What was at work is turning back; the page sees the stop at once."""
        row = row_of(session, run)
        workspaces.move(
            self._ctx, session, row, WorkspaceState.STOPPING, reason=_reason(run), operation=run.id
        )

    async def save(self, run: Run) -> dict[str, Any]:
        """Kernel state is kept with every stop; a server that cannot save does not hinder the stop."""
        assert run.name is not None
        port = self._port(run)
        if port is None or run.params.get("save") is False:
            return {"saved": False, "why": "nothing was running"}
        try:
            report = await self._ctx.servers.save(
                run.owner,
                run.name,
                port,
                run.id,
                busy="interrupt",
                leave_out=[],
                partly=True,
                leaving=True,
                seconds=self._kernels_s,
            )
        except ServerGoneError:
            return {"saved": False, "why": "the server did not answer"}
        except GearshiftError as error:
            return {"saved": False, "why": error.message}
        return {"saved": self._keep(run, report), "result": {"saved": report}}

    def _keep(self, run: Run, report: dict[str, Any]) -> bool:
        """What the next start brings back."""
        with self._ctx.db.transaction() as session:
            return states.keep(
                self._ctx,
                session,
                owner=run.owner,
                name=str(run.name),
                operation=run.id,
                kind=StateKind.STOP,
                report=report,
                reason=_reason(run),
            )

    @property
    def _kernels_s(self) -> float:
        return kernels_s(self._ctx.deployment.deadlines.save())

    def _port(self, run: Run) -> int | None:
        with self._ctx.db.transaction() as session:
            row = row_of(session, run)
            return row.port if row.ready_at is not None else None

    async def stop(self, run: Run) -> None:
        """Confirmed by the hub. What was gone before we asked is taken to have ended when it was last seen."""
        assert run.name is not None
        hub, now = self._ctx.hub, self._ctx.clock.now
        before = await hub.state(run.owner, run.name)
        asked_before = run.data.get("asked_at")
        with self._ctx.db.transaction() as session:
            last = seen_last(self._ctx, row_of(session, run))
            run.record(session, asked_at=asked_before or to_iso(now()))
        await past_stale_hold(
            self._ctx, run.owner, run.name, lambda: hub.stop(run.owner, str(run.name), run.id)
        )
        was_there = before.alive or before.frozen
        gone_at = max(last, from_iso(asked_before)) if asked_before else last
        with self._ctx.db.transaction() as session:
            run.record(session, stopped_at=to_iso(now() if was_there else gone_at))

    async def close(self, run: Run) -> None:
        with self._ctx.db.transaction() as session:
            close(self._ctx, session, run, self._stopped_at(run))

    async def release(self, run: Run) -> None:
        with self._ctx.db.transaction() as session:
            free(self._ctx, session, run)

    def _stopped_at(self, run: Run) -> datetime:
        return from_iso(run.data["stopped_at"]) if "stopped_at" in run.data else self._ctx.clock.now()

    def end(self, run: Run, session: Session) -> None:
        """Done: stopped. Not confirmed: the lease stays, nothing more is charged, and it is tried again."""
        close(self._ctx, session, run, self._stopped_at(run))
        if run.op.state is OperationState.DONE:
            free(self._ctx, session, run)
            settle(self._ctx, session, run, WorkspaceState.STOPPED, _reason(run))
            return
        log.warning("%s: stop not confirmed: %s", run.workspace, run.op.error)
        row = row_of(session, run)
        workspaces.move(self._ctx, session, row, WorkspaceState.STOPPING_UNCONFIRMED, reason=_reason(run))

    def late(self, run: Run, step: str, seconds: float) -> GearshiftError:
        if step == "stop":
            return fail("stop_failed", workspace=run.workspace, since=to_iso(self._ctx.clock.now()))
        return fail("step_timeout", step=step, seconds=f"{seconds:g}")


def _reason(run: Run) -> str:
    return str(run.params.get("reason") or "asked")
