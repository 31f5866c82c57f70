"""What happens to a person as a whole: made known to the hub, disabled with their machines stopped, deleted."""

from __future__ import annotations

from contextlib import suppress

from gearshift.model.errors import fail
from gearshift.model.operation import OperationKind
from gearshift.model.units import parse_money
from gearshift.model.workspace import WorkspaceState

from gearshift_hub.control.context import Context
from gearshift_hub.control.hub import HubDownError
from gearshift_hub.control.services import ledger, people, workspaces


async def add(ctx: Context, name: str, *, admin: bool) -> str:
    """A new person, in control and in the hub; returns the one-time code."""
    with ctx.db.transaction() as session:
        code = people.add(ctx, session, name, admin=admin)
    await tell_hub(ctx, name, admin)
    return code


async def tell_hub(ctx: Context, name: str, admin: bool) -> None:
    """The hub learns of a person at the latest when they sign in; one that is down now does not matter."""
    with suppress(HubDownError):
        await ctx.hub.add_user(name, admin)


async def disable(ctx: Context, name: str) -> None:
    """Nothing of theirs runs on; they cannot sign in or use a token any more."""
    with ctx.db.transaction() as session:
        people.set_disabled(session, name, True)
    await stop_all(ctx, name, reason="disabled")


async def delete(ctx: Context, name: str) -> None:
    """Stop everything, let disks go to the bin; ledger lines stay, name and uid are never given again."""
    with ctx.db.transaction() as session:
        account = people.get(session, name)
        people.set_disabled(session, name, True)
    await stop_all(ctx, name, reason="disabled")
    for forget in ctx.hooks.account_deleted:
        await forget(name)
    ctx.backend.box.bin_home(account.slug)
    with ctx.db.transaction() as session:
        people.bury(ctx, session, name)
    with suppress(HubDownError):
        await ctx.hub.remove_user(name)


async def stop_all(ctx: Context, name: str, *, reason: str) -> None:
    """Stop whatever holds a machine for them, and wait until it has."""
    with ctx.db.transaction() as session:
        rows = workspaces.listed(session, name)
        held = [row.name for row in rows if WorkspaceState(row.state).holds_machine]
    started = [
        await ctx.operations.submit(
            OperationKind.STOP, name, one, actor="gearshift", params={"reason": reason}
        )
        for one in held
    ]
    for operation in started:
        await ctx.operations.wait(operation.id)


def credit(ctx: Context, name: str, amount: str, reference: str) -> int:
    """Money that came in, once per reference; returns the balance."""
    try:
        nano = parse_money(amount)
    except ValueError as error:
        raise fail("bad_request", field="amount", value=amount, problem=str(error)) from error
    if nano <= 0:
        raise fail(
            "bad_request", field="amount", value=amount, allowed=["more than 0"], problem="not a credit"
        )
    now = ctx.clock.now()
    with ctx.db.transaction() as session:
        people.get(session, name)
        ledger.add_credit(session, name, nano, now, f"credit:{reference}", "top-up")
        balance = ledger.balance(session, name, now)
        ctx.events.add(session, "balance", {"balance_nano": balance}, owner=name)
    return balance
