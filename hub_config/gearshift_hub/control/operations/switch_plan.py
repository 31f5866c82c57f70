"""The plan of a switch: what moves and what does not, price before and after, how going back would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gearshift.model.admission import Admission
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.lease import Lease, Purpose
from gearshift.model.operation import Operation, OperationKind
from gearshift.model.problems import parse
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations import journal
from gearshift_hub.control.operations.joining import busy
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import leases, ledger, plans, workspaces
from gearshift_hub.control.services.admission import admit_workspace
from gearshift_hub.control.services.plans import Plan

ASK_VARIABLES_S = 30.0
RESTART_S = 3.0
LIVE_S = 1.0
BUSY_WAYS = ("wait", "interrupt", "leave")
MOVING = ("predicted_seconds", "busy", "executions", "total_bytes", "available_bytes")


@dataclass(frozen=True)
class _Target:
    """Where a switch would go, as of now."""

    row: WorkspaceRow
    spec: WorkspaceSpec
    admission: Admission
    mode: str
    rollback: str
    price_before_nano: int
    availability: dict[str, int]
    balance_nano: int


def register(ctx: Context) -> None:
    plans.register(ctx, "switch", propose=propose, perform=perform, moving=MOVING)


async def propose(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    owner, name = workspaces.parse_id(body.get("workspace"))
    actor.check_owner(owner)
    busy_way = body.get("busy", "wait")
    if busy_way not in BUSY_WAYS:
        raise fail(
            "bad_request", field="busy", value=busy_way, allowed=list(BUSY_WAYS), problem="one of three"
        )
    with ctx.db.transaction() as session:
        target = _target(ctx, session, owner, name, body)
    kernels = [] if target.mode == "live" else await _variables(ctx, owner, name, target.row.port)
    predicted = _seconds(kernels)
    return {
        "workspace": target.row.id,
        "mode": target.mode,
        "from": _side(target.row.spec, target.price_before_nano),
        "to": _side(target.spec.model_dump(mode="json"), target.admission.price_per_hour_nano),
        "spec": target.spec.model_dump(mode="json"),
        "price_before_nano": target.price_before_nano,
        "price_after_nano": target.admission.price_per_hour_nano,
        "price_per_hour_nano": target.admission.price_per_hour_nano,
        "max_cost_nano": None,
        "availability": target.availability,
        "rollback": target.rollback,
        "seconds": LIVE_S if target.mode == "live" else RESTART_S + 2 * predicted,
        "predicted_seconds": predicted,
        "leave_out": _leave_out(body),
        "kernels": kernels,
        "balance_nano": target.balance_nano,
    }


async def perform(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    figures = plan.figures
    owner, name = workspaces.parse_id(figures["workspace"])
    kind = OperationKind.RESIZE if figures["mode"] == "live" else OperationKind.SWITCH
    params = {
        "spec": figures["spec"],
        "freeze": figures["rollback"] == "frozen",
        "busy": plan.body.get("busy", "wait"),
        "leave_out": figures["leave_out"],
        "predicted_seconds": figures["predicted_seconds"],
        "max_cost_nano": plan.max_cost_nano,
    }
    return await ctx.operations.submit(kind, owner, name, actor=actor.name, params=params)


def _target(ctx: Context, session: Session, owner: str, name: str, body: Mapping[str, Any]) -> _Target:
    row = workspaces.get(session, owner, name)
    others = journal.active(session, row.id)
    if others:
        raise busy(others[-1])
    if row.state != WorkspaceState.READY:
        raise fail("not_running", field="workspace", value=row.id, workspace=row.id)
    spec = _new_spec(row, body)
    old = leases.of_workspace(session, row.id, Purpose.WORKSPACE)[0]
    mode = _mode(ctx, workspaces.spec_of(row), spec)
    admission, rollback = _admit(ctx, session, row, spec, old, mode)
    interval = ledger.open_of(session, ledger.subject_of(row.id))
    return _Target(
        row=row,
        spec=spec,
        admission=admission,
        mode=mode,
        rollback=rollback,
        price_before_nano=interval.price_per_hour_nano if interval else 0,
        availability=leases.inventory(ctx, session)[spec.machine],
        balance_nano=ledger.balance(session, owner, ctx.clock.now()),
    )


def _admit(
    ctx: Context, session: Session, row: WorkspaceRow, spec: WorkspaceSpec, old: Lease, mode: str
) -> tuple[Admission, str]:
    """With room for both the old tree is only frozen meanwhile; else a failure goes back to what was saved."""
    if mode == "restart" and ctx.backend.box.able().freeze:
        try:
            kept = admit_workspace(ctx, session, row.owner, row.name, spec, replacing=old, keep_memory=True)
            return kept, "frozen"
        except GearshiftError as error:
            if error.code != "sold_out":
                raise
    return admit_workspace(ctx, session, row.owner, row.name, spec, replacing=old), "saved"


def _new_spec(row: WorkspaceRow, body: Mapping[str, Any]) -> WorkspaceSpec:
    """The old spec with what is to change; nothing to change means: the same machine once more."""
    changes = {key: body[key] for key in ("machine", "image", "plan", "disks") if body.get(key) is not None}
    return parse(WorkspaceSpec, {**row.spec, **changes})


def _mode(ctx: Context, old: WorkspaceSpec, new: WorkspaceSpec) -> str:
    """`live` where only cores and memory differ and the box can change those of a running tree."""
    if new == old or new.model_copy(update={"machine": old.machine}) != old:
        return "restart"
    before, after = ctx.deployment.machine(old.machine), ctx.deployment.machine(new.machine)
    if before is None or after is None or not ctx.backend.box.able().live_resize:
        return "restart"
    return "live" if before.differs_only_in_size(after) else "restart"


async def _variables(ctx: Context, owner: str, name: str, port: int | None) -> list[dict[str, Any]]:
    """What each kernel holds, with the verdict on each variable."""
    if port is None:
        raise fail("save_failed", cause="the server is gone")
    try:
        said = await within(ctx.clock, ASK_VARIABLES_S, ctx.servers.plan(owner, name, port))
    except (ServerGoneError, DeadlineError) as error:
        raise fail("save_failed", cause="the server does not answer") from error
    return list(said.get("kernels", ()))


def _seconds(kernels: list[dict[str, Any]]) -> float:
    variables = (one for kernel in kernels for one in kernel.get("variables", ()))
    return float(sum(one.get("seconds") or 0.0 for one in variables))


def _side(spec: Mapping[str, Any], price_nano: int) -> dict[str, Any]:
    return {"machine": spec["machine"], "image": spec["image"], "price_per_hour_nano": price_nano}


def _leave_out(body: Mapping[str, Any]) -> list[str]:
    names = body.get("leave_out", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise fail("bad_request", field="leave_out", allowed=["a list of names"], problem="not names")
    return names
