"""The catalog as one person sees it: each machine with what is free now, and what a switch of a workspace would change."""

from __future__ import annotations

from gearshift.model.errors import Conflict
from gearshift.model.lease import Ask, Lease, Purpose, grant
from gearshift.model.machine import Machine
from sqlalchemy.orm import Session

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import leases, workspaces


class Listed(Machine):
    """A machine with its inventory; the last fields only where a workspace was named."""

    free: int
    total: int
    price_per_hour_nano: int
    current: bool | None = None
    """The workspace is on it now."""
    runs_image: bool | None = None
    """It runs the workspace's image."""
    fits: bool | None = None
    """A switch to it could be let in now, what the workspace holds given in exchange."""
    change_per_hour_nano: int | None = None


def listed(ctx: Context, actor: Actor, workspace: str | None) -> list[Listed]:
    """All machines, in the order of the deployment file."""
    with ctx.db.transaction() as session:
        row = _row(session, actor, workspace)
        free = leases.inventory(ctx, session)
        held = tuple(lease for lease in leases.all_leases(session) if row is None or not _is_kept(lease, row))
        old = next(iter(leases.of_workspace(session, row.id, Purpose.WORKSPACE)), None) if row else None
    return [
        Listed(
            **machine.model_dump(),
            **free[machine.id],
            price_per_hour_nano=_price(machine),
            **(_compared(ctx, machine, row, old, held) if row else {}),
        )
        for machine in ctx.deployment.machines
    ]


def _row(session: Session, actor: Actor, workspace: str | None) -> WorkspaceRow | None:
    if workspace is None:
        return None
    owner, name = workspaces.parse_id(workspace)
    actor.check_owner(owner)
    return workspaces.get(session, owner, name)


def _compared(
    ctx: Context, machine: Machine, row: WorkspaceRow, old: Lease | None, held: tuple[Lease, ...]
) -> dict[str, bool | int]:
    now = ctx.deployment.machine(row.spec["machine"])
    return {
        "current": machine.id == row.spec["machine"],
        "runs_image": row.spec["image"] in machine.images,
        "fits": _fits(ctx, machine, old, held),
        "change_per_hour_nano": _price(machine) - (_price(now) if now else 0),
    }


def _fits(ctx: Context, machine: Machine, old: Lease | None, held: tuple[Lease, ...]) -> bool:
    ask = Ask(machine=machine, replacing=old)
    try:
        grant(ask, leases.pools(ctx), held)
    except Conflict:
        return False
    return True


def _is_kept(lease: Lease, row: WorkspaceRow) -> bool:
    """What the waitlist holds for it is room for it."""
    return lease.purpose is Purpose.WAITLIST and lease.workspace == row.id


def _price(machine: Machine) -> int:
    return next(iter(machine.prices_per_hour_nano.values()))
