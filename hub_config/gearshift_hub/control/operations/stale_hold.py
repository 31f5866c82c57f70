"""A hold that its switch could not give up (the hub was away then): whoever meets it ends it and tries again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from gearshift.model.errors import GearshiftError

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.operations import OperationRow
from gearshift_hub.control.operations import journal

T = TypeVar("T")


async def past_stale_hold(ctx: Context, owner: str, name: str, ask: Callable[[], Awaitable[T]]) -> T:
    """What the hub answers; `busy` with an operation that has ended is no answer to give up on."""
    try:
        return await ask()
    except GearshiftError as error:
        holder = error.facts.get("operation")
        if error.code != "busy" or not isinstance(holder, str) or not _has_ended(ctx, holder):
            raise
        await ctx.hub.release(owner, name, holder, "new")
        return await ask()


def _has_ended(ctx: Context, operation: str) -> bool:
    with ctx.db.transaction() as session:
        row = session.get(OperationRow, operation)
        return row is not None and journal.operation_of(row).state.is_final
