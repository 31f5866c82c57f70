"""One server of a switch, the new one or the old one again: its launch plan, its start, its kernels' state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gearshift.model.errors import fail
from gearshift.model.launch import LaunchPlan
from gearshift.model.workspace import WorkspaceSpec

from gearshift_hub.control.context import Context
from gearshift_hub.control.hub import ServerState
from gearshift_hub.control.operations import exchange
from gearshift_hub.control.servers import ServerGoneError
from gearshift_hub.control.services import launches
from gearshift_hub.control.steps import Run

OURS_S = 5.0
"""What is left of a step's time to the server's own work when its kernels' time is over."""


def name_of(run: Run) -> str:
    assert run.name is not None
    return run.name


def state_s(ctx: Context, run: Run) -> float:
    """The deadline of a save or a restore."""
    return ctx.deployment.deadlines.save(exchange.predicted_s(run))


def kernels_s(seconds: float) -> float:
    """How much of a step's time its kernels may take: the server then says which of them was late."""
    return max(seconds - OURS_S, seconds / 2)


def plan_launch(ctx: Context, run: Run, spec: Mapping[str, Any], devices: list[str], key: str) -> None:
    """Write down, under this key, what the spawner is going to ask for."""
    with ctx.db.transaction() as session:
        plan = launches.build(
            ctx,
            session,
            owner=run.owner,
            name=name_of(run),
            operation=run.id,
            spec=WorkspaceSpec.read(spec),
            device_ids=tuple(devices),
            restore=True,
        )
        run.record(session, **{key: plan.model_dump(mode="json")})


async def start_server(ctx: Context, run: Run, key: str) -> ServerState:
    """Start what was planned under this key, and wait until the hub says ready."""
    plan = LaunchPlan(**run.data[key])
    for prepare in ctx.hooks.before_launch:
        await prepare(run.owner, name_of(run), plan.person)
    return await ctx.hub.start(run.owner, name_of(run), run.id)


async def restore_into(ctx: Context, run: Run, port: int | None) -> dict[str, Any]:
    """The server's report, which names kernels that came back empty. ServerGoneError when there is no server."""
    if port is None:
        raise ServerGoneError("the hub named no port")
    return await ctx.servers.restore(
        run.owner, name_of(run), port, run.id, seconds=kernels_s(state_s(ctx, run))
    )


def check_restored(run: Run, report: Mapping[str, Any]) -> None:
    """Raises `restore_failed` when a kernel's variables were saved and are not there again."""
    for kernel in report.get("kernels", ()):
        if isinstance(kernel, Mapping) and kernel.get("status") == "failed":
            where = kernel.get("path") or kernel.get("kernel_id")
            why = (kernel.get("error") or {}).get("text", "its variables did not come back")
            raise fail("restore_failed", machine=exchange.new_spec(run).machine, cause=f"{where}: {why}")
