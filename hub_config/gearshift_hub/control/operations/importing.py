"""A kept state on a shared disk, brought into its owner's running workspace: by a press and by nothing else.

`import_state {workspace, disk, state}`  shows what lies there; the press is consent to those bytes, for the plan's time

Others can write to a shared disk, and loading a state runs what is in it. So the consent names the person, the digest of
what was shown and an end; the workspace's server copies it to where nobody else writes and holds it against all three.
From then on it is a kept state like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.kept_state import StateKind
from gearshift.model.operation import Operation, OperationKind
from gearshift.model.units import to_iso
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.states import StateRow
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import disk_records, plans, states, workspaces
from gearshift_hub.control.services.plans import Plan
from gearshift_hub.control.services.timings import number
from gearshift_hub.control.steps import Run

LOOK_S = 10.0
SLOWEST_BYTES_S = 50e6
"""Copied, verified and loaded: what a disk that others use as well gives at the least."""


def register(ctx: Context) -> None:
    plans.register(ctx, "import_state", propose=propose, perform=perform, press_only=True)


async def propose(ctx: Context, actor: Actor, body: Mapping[str, Any]) -> dict[str, Any]:
    """What lies there now, whose disk that is and who else is on it."""
    owner, name = workspaces.parse_id(body.get("workspace"))
    if actor.name != owner:
        raise fail("forbidden", role="the owner", role_zh="所有者")
    state = body.get("state")
    if not isinstance(state, str):
        raise fail("bad_request", field="state", value=state, problem="say which")
    with ctx.db.transaction() as session:
        port = workspaces.running_port(session, owner, name)
        disk = _disk(session, owner, name, body.get("disk"))
    try:
        seen = await within(ctx.clock, LOOK_S, ctx.servers.look_at(owner, name, port, disk["name"], state))
    except (ServerGoneError, DeadlineError) as error:
        raise fail("restore_failed", machine="this machine", cause="the server did not answer") from error
    return {
        "workspace": f"{owner}/{name}",
        "disk": disk,
        "state": state,
        "digest": str(seen.get("digest")),
        "bytes": seen.get("bytes"),
        "from": seen.get("workspace"),
        "kernels": seen.get("kernels"),
        "price_per_hour_nano": 0,
        "max_cost_nano": 0,
    }


async def perform(ctx: Context, actor: Actor, plan: Plan) -> Operation:
    owner, name = workspaces.parse_id(plan.figures["workspace"])
    consent = {
        "user": actor.name,
        "digest": plan.figures["digest"],
        "expires_at": to_iso(plan.expires_at),
    }
    shared = {"disk": plan.figures["disk"]["name"], "state": plan.figures["state"], "consent": consent}
    takes = number(plan.figures["bytes"]) / SLOWEST_BYTES_S
    params = {"state": None, "shared": shared, "predicted_seconds": takes}
    return await ctx.operations.submit(OperationKind.RESTORE, owner, name, actor=actor.name, params=params)


async def brought_in(ctx: Context, run: Run, port: int) -> str:
    """Its id as a kept state of this workspace; done once, however often control dies on the way."""
    name, shared = str(run.name), run.params["shared"]
    with ctx.db.transaction() as session:
        if states.find(session, run.owner, name, run.id) is not None:
            return run.id
    report = await ctx.servers.bring_in(run.owner, name, port, run.id, **shared)
    with ctx.db.transaction() as session:
        kept = states.keep(
            ctx,
            session,
            owner=run.owner,
            name=name,
            operation=run.id,
            kind=StateKind.SNAPSHOT,
            report=report,
            note=f"{shared['disk']}: {shared['state']}",
        )
    if not kept:
        raise fail("restore_failed", machine="this machine", cause="nothing of it was found")
    return run.id


def forget_half(ctx: Context, run: Run, session: Session) -> None:
    """Of one that did not become a kept state nothing stays."""
    if "shared" in run.params and session.get(StateRow, run.id) is None:
        short = workspaces.get(session, run.owner, str(run.name)).short
        ctx.backend.box.forget_state(short, run.id)


def _disk(session: Session, owner: str, name: str, key: object) -> dict[str, Any]:
    """One that this workspace has, under the name of its link there."""
    row = disk_records.find(session, owner, key if isinstance(key, str) else "")
    mounted = workspaces.spec_of(workspaces.get(session, owner, name)).disks
    if not any(mount.disk in (row.id, row.name) for mount in mounted):
        raise fail("unknown_disk", field="disk", value=key, allowed=[mount.disk for mount in mounted])
    links = disk_records.link_names(disk_records.usable(session, owner), owner)
    others = {row.owner, *disk_records.members(session, row.id)} - {owner}
    return {"id": row.id, "name": links[row.id], "others": sorted(others)}
