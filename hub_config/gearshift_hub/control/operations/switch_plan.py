"""The plan of a switch: what becomes of each variable, what it takes, price before and after, how going back would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gearshift.model.admission import Admission
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.lease import Lease, Purpose
from gearshift.model.machine import Machine
from gearshift.model.operation import Operation, OperationKind
from gearshift.model.problems import parse
from gearshift.model.workspace import WorkspaceSpec, WorkspaceState
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.operations import burden, journal, resize
from gearshift_hub.control.operations.joining import busy
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import images, leases, ledger, plans, states, timings, workspaces
from gearshift_hub.control.services.admission import admit_workspace
from gearshift_hub.control.services.plans import Plan
from gearshift_hub.control.services.timings import Burden, Prediction

ASK_VARIABLES_S = 30.0
BUSY_WAYS = ("wait", "interrupt", "leave")
MOVING = (
    "predicted_seconds",
    "stages",
    "learned_from",
    "known",
    "fits",
    "memory",
    "disk",
    "busy",
    "room_bytes",
)


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
    plans.register(ctx, "switch", propose=propose, perform=perform, moving=MOVING, changed=changed)


async def propose(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    owner, name = workspaces.parse_id(body.get("workspace"))
    actor.check_owner(owner)
    busy_way = body.get("busy", "wait")
    if busy_way not in BUSY_WAYS:
        raise fail(
            "bad_request", field="busy", value=busy_way, allowed=list(BUSY_WAYS), problem="one of three"
        )
    left = burden.names(body, "leave_out")
    with ctx.db.transaction() as session:
        target = _target(ctx, session, owner, name, body)
        probe = not timings.knows_bytes(session, owner)
    live = target.mode == "live"
    if live:
        await resize.check_room(ctx, target.row.tree, _machine(ctx, target.spec))
    said = {} if live else await ask_server(ctx, owner, name, target.row.port, probe=probe)
    kernels = list(said.get("kernels", ()))
    burden.judge(kernels)
    again = burden.rerun(body, kernels, left)
    load = burden.carried(said, left, again)
    with ctx.db.transaction() as session:
        expected = predict(session, owner, target.mode, load)
        snapshot = states.snapshot_first(ctx, session, target.row.id, body, possible=not live)
    _say_seconds(kernels, expected)
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
        "fits": None if live else burden.fits(said, _machine(ctx, target.spec), left),
        "rollback": target.rollback,
        "seconds": round(expected.seconds, 1),
        "stages": expected.stages,
        "learned_from": expected.runs,
        "predicted_seconds": max(expected.stages.get("save", 0.0), expected.stages.get("restore", 0.0)),
        "known": dict(load.known),
        "bytes": load.bytes,
        "leave_out": left,
        "rerun": again,
        "snapshot": snapshot,
        "kernels": kernels,
        "balance_nano": target.balance_nano,
    }


async def perform(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    figures = plan.figures
    owner, name = workspaces.parse_id(figures["workspace"])
    kind = OperationKind.RESIZE if figures["mode"] == "live" else OperationKind.SWITCH
    if figures["fits"] is not None:
        burden.check_fits(_machine(ctx, WorkspaceSpec.read(figures["spec"])), figures["fits"])
    params = {
        "spec": figures["spec"],
        "from_machine": figures["from"]["machine"],
        "freeze": figures["rollback"] == "frozen",
        "busy": plan.body.get("busy", "wait"),
        "leave_out": figures["leave_out"],
        "rerun": figures["rerun"],
        "snapshot": figures["snapshot"]["asked"],
        "predicted_seconds": figures["predicted_seconds"],
        "expected": figures["stages"],
        "known": figures["known"],
        "max_cost_nano": plan.max_cost_nano,
    }
    return await ctx.operations.submit(kind, owner, name, actor=actor.name, params=params)


def predict(session: Session, owner: str, mode: str, load: Burden) -> Prediction:
    kind = OperationKind.RESIZE if mode == "live" else OperationKind.SWITCH
    return timings.predict(session, owner, kind, load)


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is different now, as a person says it; None where only the path of the field can be named."""
    if before.get("price_after_nano") != after.get("price_after_nano"):
        return "the price", "价格"
    ran = _runs(before) != _runs(after)
    names = sorted(_differing(before, after))
    if names:
        shown = names[:3] + (["…"] if len(names) > 3 else [])
        return ", ".join(shown), "、".join(shown)
    return ("the state of a kernel", "内核状态") if ran else None


def _target(ctx: Context, session: Session, owner: str, name: str, body: Mapping[str, Any]) -> _Target:
    row = workspaces.get(session, owner, name)
    others = journal.active(session, row.id)
    if others:
        raise busy(others[-1])
    if row.state != WorkspaceState.READY:
        raise fail("not_running", field="workspace", value=row.id, workspace=row.id)
    spec = new_spec(row, body)
    images.require(ctx, spec.image)
    old = leases.of_workspace(session, row.id, Purpose.WORKSPACE)[0]
    how = mode_of(ctx, workspaces.spec_of(row), spec)
    admission, rollback = _admit(ctx, session, row, spec, old, how)
    interval = ledger.open_of(session, ledger.subject_of(row.id))
    return _Target(
        row=row,
        spec=spec,
        admission=admission,
        mode=how,
        rollback=rollback,
        price_before_nano=interval.price_per_hour_nano if interval else 0,
        availability=leases.inventory(ctx, session)[spec.machine],
        balance_nano=ledger.balance(session, owner, ctx.clock.now()),
    )


def _admit(
    ctx: Context, session: Session, row: WorkspaceRow, spec: WorkspaceSpec, old: Lease, mode: str
) -> tuple[Admission, str]:
    """Live nothing stops at all. With room for both the old tree is only frozen meanwhile; else a failure goes back to
    what was saved."""
    if mode == "live":
        return admit_workspace(ctx, session, row.owner, row.name, spec, replacing=old), "live"
    if ctx.backend.box.able().freeze:
        try:
            kept = admit_workspace(ctx, session, row.owner, row.name, spec, replacing=old, keep_memory=True)
            return kept, "frozen"
        except GearshiftError as error:
            if error.code != "sold_out":
                raise
    return admit_workspace(ctx, session, row.owner, row.name, spec, replacing=old), "saved"


def new_spec(row: WorkspaceRow, body: Mapping[str, Any]) -> WorkspaceSpec:
    """The old spec with what is to change; nothing to change means: the same machine once more."""
    changes = {key: body[key] for key in ("machine", "image", "plan", "disks") if body.get(key) is not None}
    return parse(WorkspaceSpec, {**row.spec, **changes})


def mode_of(ctx: Context, old: WorkspaceSpec, new: WorkspaceSpec) -> str:
    """`live` where only cores and memory differ and the box can change those of a running tree."""
    if new == old or new.model_copy(update={"machine": old.machine}) != old:
        return "restart"
    before, after = ctx.deployment.machine(old.machine), ctx.deployment.machine(new.machine)
    if before is None or after is None or not ctx.backend.box.able().live_resize:
        return "restart"
    return "live" if before.differs_only_in_size(after) else "restart"


async def ask_server(ctx: Context, owner: str, name: str, port: int | None, *, probe: bool) -> dict[str, Any]:
    """What each kernel holds, with the verdict on each variable, and what is in use. With `probe` it also measures how
    fast the disk takes and gives bytes."""
    if port is None:
        raise fail("save_failed", cause="the server is gone")
    try:
        return await within(ctx.clock, ASK_VARIABLES_S, ctx.servers.plan(owner, name, port, probe=probe))
    except (ServerGoneError, DeadlineError) as error:
        raise fail("save_failed", cause="the server does not answer") from error


def _machine(ctx: Context, spec: WorkspaceSpec) -> Machine:
    machine = ctx.deployment.machine(spec.machine)
    assert machine is not None
    return machine


def _say_seconds(kernels: list[dict[str, Any]], expected: Prediction) -> None:
    """What copying each variable takes, by the rate that the whole is predicted with."""
    for kernel in kernels:
        for one in burden.variables(kernel):
            if one.get("verdict") == "copy":
                one["seconds"] = round(timings.number(one.get("bytes")) * expected.per_byte, 3)


def _runs(figures: Mapping[str, Any]) -> list[Any]:
    return [(kernel.get("kernel_id"), kernel.get("executions")) for kernel in figures.get("kernels", ())]


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Names of variables that came, went, or changed their kind or verdict."""

    def facts(figures: Mapping[str, Any]) -> set[tuple[str, ...]]:
        return {
            (str(kernel.get("kernel_id")), *(str(one.get(key)) for key in ("name", "type", "verdict")))
            for kernel in figures.get("kernels", ())
            for one in burden.variables(kernel)
        }

    return {name for _, name, _, _ in facts(before) ^ facts(after)}


def _side(spec: Mapping[str, Any], price_nano: int) -> dict[str, Any]:
    return {"machine": spec["machine"], "image": spec["image"], "price_per_hour_nano": price_nano}
