"""Snapshots of kernel state: taken of a running workspace, brought back into it, deleted; the last two by plan and press.

`POST .../states`             save: every kernel's variables, while it goes on; nothing is stopped
`restore_state {workspace, state}`  into the running workspace: kernels that are gone are started again, names overwritten
`delete_state {workspace, state}`   its bytes are gone for good
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.kept_state import KeptState, StateKind
from gearshift.model.operation import Operation, OperationKind, OperationState
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import importing, journal
from gearshift_hub.control.operations.joining import busy
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import plans, states, workspaces
from gearshift_hub.control.services.plans import Plan
from gearshift_hub.control.steps import Flow, Run, StepWork

BUSY_WAYS = ("wait", "leave")
"""A snapshot interrupts nobody."""
LONGEST_NOTE = 200
ASK_NAMES_S = 10.0
OURS_S = 5.0
"""The kernels' own deadline passes first, so that the answer says which of them was late."""


def register(ctx: Context) -> None:
    """The two kinds of plan, and how the operations go."""
    plans.register(ctx, "restore_state", propose=propose_restore, perform=perform_restore, moving=("busy",))
    plans.register(ctx, "delete_state", propose=propose_delete, perform=perform_delete)
    snapshot, restore = _Snapshot(ctx), _Restore(ctx)
    ctx.flows[OperationKind.SNAPSHOT] = Flow(
        steps={"save": StepWork(snapshot.save, seconds=lambda run: _limit(ctx, run) + OURS_S)},
        end=snapshot.end,
    )
    ctx.flows[OperationKind.RESTORE] = Flow(
        steps={"restore": StepWork(restore.restore, seconds=lambda run: _limit(ctx, run) + OURS_S)},
        end=partial(importing.forget_half, ctx),
    )


async def take(ctx: Context, actor: Actor, owner: str, name: str, *, note: str, busy_way: str) -> Operation:
    """Begin a snapshot: free, and nothing is lost by it, so it needs no press."""
    if busy_way not in BUSY_WAYS:
        raise fail("bad_request", field="busy", value=busy_way, allowed=list(BUSY_WAYS), problem="one of two")
    if len(note) > LONGEST_NOTE or "\0" in note:
        raise fail("bad_request", field="note", value=note[:50], allowed=[f"up to {LONGEST_NOTE} characters"])
    with ctx.db.transaction() as session:
        workspaces.running_port(session, owner, name)
    params = {"note": note, "busy": busy_way}
    return await ctx.operations.submit(OperationKind.SNAPSHOT, owner, name, actor=actor.name, params=params)


async def propose_restore(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Which names of the running kernels would be overwritten; unknown (None) while a kernel runs a cell."""
    with ctx.db.transaction() as session:
        owner, name, kept = _asked(session, actor, body)
        port = workspaces.running_port(session, owner, name)
    return {
        **_shown(kept),
        "kernels": await _meeting(ctx, owner, name, port, kept),
        "predicted_seconds": _predicted(ctx, kept),
    }


async def perform_restore(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    owner, name = workspaces.parse_id(plan.figures["workspace"])
    params = {
        "state": plan.figures["state"]["id"],
        "predicted_seconds": plan.figures["predicted_seconds"],
    }
    return await ctx.operations.submit(OperationKind.RESTORE, owner, name, actor=actor.name, params=params)


async def propose_delete(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    with ctx.db.transaction() as session:
        owner, name, kept = _asked(session, actor, body)
        _check_unused(session, f"{owner}/{name}")
    return _shown(kept)


async def perform_delete(ctx: Context, actor: Actor, plan: Plan) -> KeptState:
    """What was deleted."""
    owner, name = workspaces.parse_id(plan.figures["workspace"])
    with ctx.db.transaction() as session:
        _check_unused(session, f"{owner}/{name}")
        row = states.get(session, owner, name, plan.figures["state"]["id"])
        shown = states.shown(row)
        states.forget(ctx, session, row)
    return shown


class _Snapshot:
    """Parameters: `note`, `busy`."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def save(self, run: Run) -> dict[str, Any]:
        ctx, name = self._ctx, str(run.name)
        with ctx.db.transaction() as session:
            port = workspaces.running_port(session, run.owner, name)
        limit, way = _limit(ctx, run), run.params["busy"]
        try:
            report = await ctx.servers.save(
                run.owner, name, port, run.id, busy=way, leave_out=[], seconds=limit
            )
        except ServerGoneError as error:
            raise fail("save_failed", cause="the server did not answer") from error
        with ctx.db.transaction() as session:
            kept = states.keep(
                ctx,
                session,
                owner=run.owner,
                name=name,
                operation=run.id,
                kind=StateKind.SNAPSHOT,
                report=report,
                note=run.params["note"],
            )
        if not kept:
            raise fail("save_failed", cause="nothing of it was found")
        return {"result": {"saved": report}}

    def end(self, run: Run, session: Session) -> None:
        """Of a snapshot that did not come about nothing stays."""
        if run.op.state is not OperationState.DONE:
            short = workspaces.get(session, run.owner, str(run.name)).short
            self._ctx.backend.box.forget_state(short, run.id)


class _Restore:
    """Parameters: `state`, `predicted_seconds`; `shared` where it lies on a shared disk as yet (see `importing`)."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def restore(self, run: Run) -> dict[str, Any]:
        """Every byte is verified before a name is touched."""
        ctx, name = self._ctx, str(run.name)
        with ctx.db.transaction() as session:
            port = workspaces.running_port(session, run.owner, name)
        if "shared" in run.params:
            state = await importing.brought_in(ctx, run, port)
        else:
            with ctx.db.transaction() as session:
                state = states.get(session, run.owner, name, run.params["state"]).id
        limit = _limit(ctx, run)
        try:
            report = await ctx.servers.restore(
                run.owner, name, port, run.id, state=state, check=True, seconds=limit
            )
        except ServerGoneError as error:
            cause = "the server did not answer"
            raise fail("restore_failed", machine="this machine", cause=cause) from error
        return {"result": {"restored": report}}


def _limit(ctx: Context, run: Run) -> float:
    return ctx.deployment.deadlines.save(float(run.params.get("predicted_seconds", 0.0)))


def _predicted(ctx: Context, kept: KeptState) -> float:
    with ctx.db.transaction() as session:
        owner, name = workspaces.parse_id(kept.workspace)
        return states.get(session, owner, name, kept.id).seconds


def _asked(session: Session, actor: Actor, body: Mapping[str, Any]) -> tuple[str, str, KeptState]:
    owner, name = workspaces.parse_id(body.get("workspace"))
    actor.check_owner(owner)
    workspaces.get(session, owner, name)
    return owner, name, states.shown(states.get(session, owner, name, body.get("state")))


def _shown(kept: KeptState) -> dict[str, Any]:
    return {
        "workspace": kept.workspace,
        "state": kept.model_dump(mode="json"),
        "price_per_hour_nano": 0,
        "max_cost_nano": 0,
    }


def _check_unused(session: Session, workspace: str) -> None:
    """A start or a restore may be reading it at this moment."""
    others = journal.active(session, workspace)
    if others:
        raise busy(others[-1])


async def _meeting(ctx: Context, owner: str, name: str, port: int, kept: KeptState) -> list[dict[str, Any]]:
    """Each kernel of the state beside the one that runs under its id now."""
    try:
        said = await within(ctx.clock, ASK_NAMES_S, ctx.servers.plan(owner, name, port))
    except (ServerGoneError, DeadlineError, GearshiftError):
        said = None
    running = {one.get("kernel_id"): one for one in said.get("kernels", ())} if said is not None else None
    return [_beside(kernel.model_dump(mode="json"), running) for kernel in kept.kernels]


def _beside(kernel: dict[str, Any], running: Mapping[Any, Mapping[str, Any]] | None) -> dict[str, Any]:
    shown = {"kernel_id": kernel["kernel_id"], "path": kernel["path"], "name": kernel["name"]}
    if running is None:
        return {**shown, "running": None, "busy": None, "overwritten": None}
    now = running.get(kernel["kernel_id"])
    if now is None:
        return {**shown, "running": False, "busy": False, "overwritten": []}
    unknown = bool(now.get("busy") or now.get("error"))
    there = {one.get("name") for one in now.get("variables", ())}
    names = None if unknown else [one for one in kernel["variables"] if one in there]
    return {**shown, "running": True, "busy": bool(now.get("busy")), "overwritten": names}
