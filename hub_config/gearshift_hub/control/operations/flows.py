"""All kinds of operation on workspaces, and the engine that runs them, given to the context."""

from __future__ import annotations

from gearshift.model.operation import OperationKind

from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import (
    delete_workspace,
    importing,
    resize,
    snapshots,
    start,
    start_plan,
    stop,
    switch,
    switch_plan,
)
from gearshift_hub.control.operations.engine import Engine


def install(ctx: Context) -> Engine:
    """Register flows and plans; the engine is idle until `resume`."""
    ctx.flows[OperationKind.START] = start.flow(ctx)
    ctx.flows[OperationKind.STOP] = stop.flow(ctx)
    ctx.flows[OperationKind.SHUTDOWN] = stop.flow(ctx)
    ctx.flows[OperationKind.SWITCH] = switch.flow(ctx)
    ctx.flows[OperationKind.RESIZE] = resize.flow(ctx)
    start_plan.register(ctx)
    switch_plan.register(ctx)
    snapshots.register(ctx)
    importing.register(ctx)
    delete_workspace.register(ctx)
    engine = Engine(ctx)
    ctx.engine = engine
    return engine
