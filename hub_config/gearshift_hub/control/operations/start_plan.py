"""Plans of a start and of a stop: what they would cost and need, and how a confirmed one becomes an operation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from gearshift.model.errors import GearshiftError, fail
from gearshift.model.operation import Operation, OperationKind
from gearshift.model.problems import parse
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations import journal
from gearshift_hub.control.operations.bringing_back import FRESH, NEWEST
from gearshift_hub.control.operations.joining import busy
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import leases, ledger, plans, states, workspaces
from gearshift_hub.control.services.admission import admit_workspace
from gearshift_hub.control.services.plans import Plan

RATE_SPAN = timedelta(minutes=1)
ASK_KERNELS_S = 2.0
TYPICAL_START_S = 5
"""Shown before anything is known of this box."""


def register(ctx: Context) -> None:
    plans.register(ctx, "start", propose=propose_start, perform=perform_start, moving=("restores",))
    plans.register(ctx, "stop", propose=propose_stop, perform=perform_stop, moving=("kernels",))


async def propose_start(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Admission as of now; a workspace that is still stopping may be started, it then waits."""
    if not isinstance(body.get("safe", False), bool):
        raise fail("bad_request", field="safe", value=body["safe"], allowed=[False, True])
    with ctx.db.transaction() as session:
        owner, name, display_name, spec = wanted(session, actor, body)
        _check_rate(ctx, session)
        row = workspaces.find(session, owner, name)
        _check_can_start(session, row, spec)
        admission = admit_workspace(ctx, session, owner, name, spec, restarting=True)
        free = leases.inventory(ctx, session)[spec.machine]
        balance = ledger.balance(session, owner, ctx.clock.now())
        restores = _restores(session, owner, name, body)
    return {
        "workspace": f"{owner}/{name}",
        "display_name": display_name,
        "restores": restores,
        "spec": spec.model_dump(mode="json"),
        "machine": spec.machine,
        "image": spec.image,
        "price_per_hour_nano": admission.price_per_hour_nano,
        "max_cost_nano": None,
        "availability": free,
        "balance_nano": balance,
        "seconds": TYPICAL_START_S,
    }


async def perform_start(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    owner, name = workspaces.parse_id(plan.figures["workspace"])
    spec = WorkspaceSpec.read(plan.figures["spec"])
    return await start(
        ctx,
        owner,
        name,
        spec,
        actor=actor.name,
        display_name=plan.figures["display_name"],
        max_cost_nano=plan.max_cost_nano,
        state=plan.body.get("state") or NEWEST,
        safe=plan.body.get("safe") is True,
    )


async def start(
    ctx: Context,
    owner: str,
    name: str,
    spec: WorkspaceSpec,
    *,
    actor: str,
    display_name: str | None = None,
    max_cost_nano: int | None = None,
    source: str = "control",
    state: str = NEWEST,
    safe: bool = False,
) -> Operation:
    """Begin a start, or join the one that leads (or led) to the same: repeated starts are one start (case C01)."""
    if ctx.closing:
        raise fail("control_unavailable")
    with ctx.db.transaction() as session:
        row = workspaces.find(session, owner, name)
        done = _already_there(session, row, spec)
        if done is not None:
            return done
        if row is None:
            workspaces.make(ctx, session, owner, name, display_name or name, spec)
        elif display_name:
            row.display_name = display_name
    params = {
        "spec": spec.model_dump(mode="json"),
        "max_cost_nano": max_cost_nano,
        "source": source,
        "state": state,
        "safe": safe,
    }
    return await ctx.operations.submit(OperationKind.START, owner, name, actor=actor, params=params)


async def propose_stop(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Legal in every state. Kernels are named as far as the server answers."""
    owner, name = workspaces.parse_id(body.get("workspace"))
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        port = row.port if row.state == WorkspaceState.READY else None
    return {
        "workspace": row.id,
        "machine": row.spec["machine"],
        "price_per_hour_nano": 0,
        "max_cost_nano": 0,
        "kernels": await _kernels(ctx, owner, name, port),
        "keep_days": ctx.deployment.state.keep_days,
    }


async def perform_stop(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    owner, name = workspaces.parse_id(plan.figures["workspace"])
    return await ctx.operations.submit(
        OperationKind.STOP, owner, name, actor=actor.name, params={"reason": "asked"}
    )


def wanted(session: Session, actor: Actor, body: Mapping[str, Any]) -> tuple[str, str, str, WorkspaceSpec]:
    """Owner, name, display name and spec: of a workspace there is, or of a new one of the caller's own."""
    if body.get("workspace") is not None:
        owner, name = workspaces.parse_id(body["workspace"])
        actor.check_owner(owner)
        row = workspaces.get(session, owner, name)
        spec = parse(WorkspaceSpec, body["spec"]) if body.get("spec") else workspaces.spec_of(row)
        return owner, name, row.display_name, spec
    name, display_name = workspaces.names_for(body.get("name"), body.get("display_name"))
    row_there = workspaces.find(session, actor.name, name)
    given = body.get("spec")
    if given is None and row_there is not None:
        return actor.name, name, row_there.display_name, workspaces.spec_of(row_there)
    if not isinstance(given, Mapping):
        raise fail("bad_request", field="spec", problem="say image and machine")
    return actor.name, name, display_name, parse(WorkspaceSpec, given)


def _restores(session: Session, owner: str, name: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The kept state that comes back: the newest unless one is named, or none. A stop under way may yet keep another."""
    asked = body.get("state") or NEWEST
    if asked == FRESH:
        return None
    newest = states.newest(session, owner, name)
    row = newest if asked == NEWEST else states.get(session, owner, name, asked)
    return states.shown(row).model_dump(mode="json") if row is not None and row.kernels else None


def _check_can_start(session: Session, row: WorkspaceRow | None, spec: WorkspaceSpec) -> None:
    if row is None:
        return
    same = workspaces.spec_of(row) == spec
    if row.state == WorkspaceState.READY and not same:
        raise fail(
            "already_running", field="workspace", value=row.id, workspace=row.id, machine=row.spec["machine"]
        )
    if row.state == WorkspaceState.SWITCHING:
        raise busy(journal.active(session, row.id)[-1])


def _already_there(session: Session, row: WorkspaceRow | None, spec: WorkspaceSpec) -> Operation | None:
    """The start that made it run, if it runs as wanted."""
    if row is None or row.state != WorkspaceState.READY or journal.active(session, row.id):
        return None
    if workspaces.spec_of(row) != spec:
        raise fail(
            "already_running", field="workspace", value=row.id, workspace=row.id, machine=row.spec["machine"]
        )
    last = journal.latest(session, row.id, OperationKind.START)
    return journal.operation_of(last) if last else None


def _check_rate(ctx: Context, session: Session) -> None:
    limit = ctx.deployment.limits.start_rate
    used = journal.started_since(session, ctx.clock.now() - RATE_SPAN)
    if used >= limit:
        raise fail(
            "limit_reached",
            field="start_rate",
            used=used,
            limit=limit,
            what="starts in a minute",
            what_zh="每分钟启动",
        )


async def _kernels(ctx: Context, owner: str, name: str, port: int | None) -> Any:
    """Which kernels run, as the server tells it; None where it does not."""
    if port is None:
        return []
    try:
        said = await within(ctx.clock, ASK_KERNELS_S, ctx.servers.health(owner, name, port))
    except (ServerGoneError, DeadlineError, GearshiftError):
        return None
    return said.get("kernels")
