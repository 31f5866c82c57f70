"""Launch plans: all that is needed to start one workspace once, computed anew from the spec and one lease (case C06)."""

from __future__ import annotations

from gearshift.language import LANGUAGE_ENV
from gearshift.model.errors import fail
from gearshift.model.launch import (
    DOOR_KEY_ENV,
    INTERRUPT_SHARE_ENV,
    WARN_SHARE_ENV,
    LaunchDeadlines,
    LaunchPlan,
    Mount,
    Person,
    ProcessLimits,
    WorkspaceRef,
)
from gearshift.model.lease import Device
from gearshift.model.machine import Machine
from gearshift.model.workspace import WorkspaceSpec
from sqlalchemy.orm import Session

from gearshift_hub.control import keys
from gearshift_hub.control.context import Context
from gearshift_hub.control.db.workspaces import WorkspaceRow
from gearshift_hub.control.services import images, leases, people, workspaces

PIDS = 4096


def person(ctx: Context, session: Session, owner: str) -> Person:
    """The owner as the box knows them; home and account name are made if missing."""
    account = people.get(session, owner)
    return ctx.backend.box.ensure_person(owner, account.slug, account.uid)


def build(
    ctx: Context,
    session: Session,
    *,
    owner: str,
    name: str,
    operation: str,
    spec: WorkspaceSpec,
    device_ids: tuple[str, ...],
    restore: bool = False,
    state: str | None = None,
    safe: bool = False,
) -> LaunchPlan:
    """The plan of one launch; each build is a new generation of the workspace.

    With `restore` the server holds back what pages ask about kernels until what the operation saved is back; with
    `state` until that kept state is. A `safe` start leaves away what the person installed.
    """
    row = workspaces.get(session, owner, name)
    row.generation += 1
    machine, image = ctx.deployment.machine(spec.machine), ctx.deployment.image(spec.image)
    if machine is None or image is None:
        raise fail("unknown_machine", field="machine", value=spec.machine, allowed=[])
    who = person(ctx, session, owner)
    runtime_dir, state_dir = ctx.backend.box.ensure_workspace(who, row.short)
    session.flush()
    return LaunchPlan(
        operation=operation,
        workspace=WorkspaceRef(owner=owner, name=name),
        person=who,
        image=images.ref(ctx, image),
        env=_env(ctx, row, machine, spec, device_ids, state_dir)
        | _restored(operation, operation if restore else state)
        | ({"GEARSHIFT_SAFE_START": "1"} if safe else {}),
        limits=limits_of(machine),
        devices=device_ids,
        mounts=_mounts(ctx, session, owner, name),
        runtime_dir=runtime_dir,
        state_dir=state_dir,
        tree=f"ws-{row.short}-{row.generation}",
        deadlines=LaunchDeadlines(start=ctx.deployment.deadlines.start, term=ctx.deployment.deadlines.term),
        labels={"workspace": row.id, "machine": machine.id},
    )


def limits_of(machine: Machine) -> ProcessLimits:
    """What a tree on this machine may use."""
    return ProcessLimits(
        memory_bytes=machine.memory_bytes, cpus=machine.cpus, pids=PIDS, threads=machine.threads
    )


def _mounts(ctx: Context, session: Session, owner: str, name: str) -> tuple[Mount, ...]:
    return tuple(mount for ask in ctx.hooks.mounts for mount in ask(session, owner, name))


def _restored(operation: str, state: str | None) -> dict[str, str]:
    if state is None:
        return {}
    return {"GEARSHIFT_RESTORE": operation, "GEARSHIFT_RESTORE_STATE": state}


def _env(
    ctx: Context,
    row: WorkspaceRow,
    machine: Machine,
    spec: WorkspaceSpec,
    device_ids: tuple[str, ...],
    state_dir: str,
) -> dict[str, str]:
    return {
        "GEARSHIFT_WORKSPACE": row.id,
        "GEARSHIFT_MACHINE": machine.id,
        "GEARSHIFT_IMAGE": spec.image,
        "GEARSHIFT_CPUS": f"{machine.cpus:g}",
        "GEARSHIFT_MEMORY_BYTES": str(machine.memory_bytes),
        WARN_SHARE_ENV: f"{ctx.deployment.memory.warn_share:g}",
        INTERRUPT_SHARE_ENV: f"{ctx.deployment.memory.interrupt_share:g}",
        "GEARSHIFT_CONTROL_URL": ctx.control_url,
        "GEARSHIFT_STATE_DIR": state_dir,
        "GEARSHIFT_STATE_KEY": keys.state_key(ctx.state_secret, row.owner),
        "GEARSHIFT_STATE_KEEP_DAYS": f"{ctx.deployment.state.keep_days:g}",
        DOOR_KEY_ENV: keys.door_key(ctx.state_secret, row.owner, row.name),
        "GEARSHIFT_DEVICES": ",".join(device_ids),
        "CUDA_VISIBLE_DEVICES": _visible(ctx, machine, device_ids),
        LANGUAGE_ENV: ctx.deployment.site.language,
        "GEARSHIFT_DEBUGGER": "off" if ctx.backend.box.able().uid_per_person else "on",
    }


def _visible(ctx: Context, machine: Machine, device_ids: tuple[str, ...]) -> str:
    """The real cards of the lease; none for a simulated chip or no chip."""
    pool = next((pool for pool in leases.pools(ctx) if pool.id == machine.pool), None)
    devices: dict[str, Device] = {device.id: device for device in pool.devices} if pool else {}
    real = [devices[id] for id in device_ids if id in devices and not devices[id].simulated]
    return ",".join(device.uuid or device.id for device in real)
