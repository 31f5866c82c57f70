"""Ctrl-C: jobs end, every workspace is saved and stopped, every interval is closed."""

from __future__ import annotations

import logging

from gearshift.model.operation import OperationKind, OperationState
from gearshift.model.workspace import WorkspaceState

from gearshift_hub.control.context import Context
from gearshift_hub.control.services import workspaces

log = logging.getLogger("gearshift.control")


async def shut_down(ctx: Context) -> tuple[int, list[str]]:
    """How many workspaces were stopped, and which could not be confirmed as stopped."""
    ctx.closing = True
    for end in ctx.hooks.shutdown:
        try:
            await end()
        except Exception:
            log.exception("a part did not end well; going on with the others")
    with ctx.db.transaction() as session:
        rows = workspaces.listed(session, None)
        held = [(row.owner, row.name) for row in rows if WorkspaceState(row.state).holds_machine]
    started = [
        await ctx.operations.submit(
            OperationKind.SHUTDOWN, owner, name, actor="gearshift", params={"reason": "shutdown"}
        )
        for owner, name in held
    ]
    ended = [await ctx.operations.wait(operation.id) for operation in started]
    unconfirmed = [op.workspace or "" for op in ended if op.state is not OperationState.DONE]
    return len(ended), unconfirmed
