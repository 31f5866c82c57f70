"""A hold that its switch could not give up (the hub was away then): whoever meets it ends it and tries again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from gearshift.model.errors import GearshiftError

from gearshift_hub.control.context import Context
from gearshift_hub.control.operations import journal

T = TypeVar("T")


async def past_stale_hold(ctx: Context, owner: str, name: str, ask: Callable[[], Awaitable[T]]) -> T:
    """What the hub answers; `busy` with an operation that has ended is no answer to give up on."""
    try:
        return await ask()
    except GearshiftError as error:
        holder = error.facts.get("operation")
        if error.code != "busy" or not isinstance(holder, str):
            raise
        with ctx.db.transaction() as session:
            stale = journal.has_ended(session, holder)
        if not stale:
            raise
        await ctx.hub.release(owner, name, holder, "new")
        return await ask()
