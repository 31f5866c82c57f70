"""What a switch to each machine would take and whether the kernels fit there, before one of them is chosen."""

from __future__ import annotations

from gearshift.model.errors import fail
from gearshift.model.record import Record
from gearshift.model.workspace import WorkspaceState

from gearshift_hub.control.auth import Actor
from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import burden
from gearshift_hub.control.operations.switch_plan import ask_server, mode_of, predict
from gearshift_hub.control.services import timings, workspaces


class InUse(Record):
    """What is used here against what is there; unknown is null."""

    used_bytes: int | None
    has_bytes: int


class Fits(Record):
    """Memory, and the chips' memory where the machine has chips."""

    memory: InUse
    chips: InUse | None
    ok: bool


class SwitchTime(Record):
    """A switch to one machine."""

    machine: str
    mode: str
    seconds: float
    fits: Fits


async def times(ctx: Context, actor: Actor, owner: str, name: str) -> list[SwitchTime]:
    """In the order of the deployment file. The kernels are looked at once; nothing is changed."""
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        if row.state != WorkspaceState.READY:
            raise fail("not_running", field="workspace", value=row.id, workspace=row.id)
        spec, port = workspaces.spec_of(row), row.port
        probe = not timings.knows_bytes(session, owner)
    said = await ask_server(ctx, owner, name, port, probe=probe)
    load = burden.carried(said, [], {})
    found = []
    with ctx.db.transaction() as session:
        for machine in ctx.deployment.machines:
            how = mode_of(ctx, spec, spec.model_copy(update={"machine": machine.id}))
            seconds = round(predict(session, owner, how, load).seconds, 1)
            fits = Fits.model_validate(burden.fits(said, machine))
            found.append(SwitchTime(machine=machine.id, mode=how, seconds=seconds, fits=fits))
    return found
