"""Routes of accounts on the internal socket: for the sign-in page and `gearshift user`."""

from __future__ import annotations

import secrets

from fastapi import APIRouter, Depends, Request
from gearshift.model.record import Record
from pydantic import SecretStr

from gearshift_hub.control.auth import context
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import accounts, people, sign_in
from gearshift_hub.control.services.people import Account
from gearshift_hub.control.services.sign_in import Hashing

router = APIRouter(prefix="/internal/accounts", tags=["accounts"])


class NewAccount(Record):
    """Somebody to be added."""

    name: str
    admin: bool = False


class Code(Record):
    """A one-time code, to be typed into the form."""

    name: str
    code: str


class SignIn(Record):
    """A name and password, or at first the one-time code in its place."""

    name: str
    password: SecretStr


class Verdict(Record):
    """Whether they may come in; `needs_activation`: this was the one-time code, a password is to be set."""

    ok: bool
    name: str
    admin: bool = False
    needs_activation: bool = False


class Activation(Record):
    """The one-time code and the password that takes its place."""

    name: str
    code: SecretStr
    password: SecretStr


class Credit(Record):
    """Money that came in; a reference is booked once."""

    amount: str
    reference: str | None = None


class Balance(Record):
    """What is left."""

    balance_nano: int


async def hashing_of(request: Request) -> Hashing:
    hashing = request.app.state.hashing
    assert isinstance(hashing, Hashing)
    return hashing


@router.get("")
async def list_accounts(ctx: Context = Depends(context)) -> list[Account]:
    """Everybody who is not deleted."""
    with ctx.db.transaction() as session:
        return people.listed(session)


@router.post("", status_code=201)
async def add_account(asked: NewAccount, ctx: Context = Depends(context)) -> Code:
    """Add somebody."""
    return Code(name=asked.name, code=await accounts.add(ctx, asked.name, admin=asked.admin))


@router.post("/verify")
async def verify(
    asked: SignIn, ctx: Context = Depends(context), hashing: Hashing = Depends(hashing_of)
) -> Verdict:
    """Whether the password is theirs; raises `wrong_sign_in` or `disabled_user`."""
    row = await sign_in.verify(ctx, hashing, asked.name, asked.password.get_secret_value())
    if row is None:
        return Verdict(ok=False, name=asked.name, needs_activation=True)
    return Verdict(ok=True, name=row.name, admin=row.admin)


@router.post("/activate")
async def activate(
    asked: Activation, ctx: Context = Depends(context), hashing: Hashing = Depends(hashing_of)
) -> Verdict:
    """Set the password with the one-time code."""
    code, password = asked.code.get_secret_value(), asked.password.get_secret_value()
    row = await sign_in.activate(ctx, hashing, asked.name, code, password)
    return Verdict(ok=True, name=row.name, admin=row.admin)


@router.post("/{name}/reset")
async def reset(name: str, ctx: Context = Depends(context)) -> Code:
    """A new one-time code; the password is forgotten."""
    with ctx.db.transaction() as session:
        return Code(name=name, code=people.reset(session, name))


@router.post("/{name}/disable")
async def disable(name: str, ctx: Context = Depends(context)) -> Account:
    """Stop what is theirs and let them in no more."""
    await accounts.disable(ctx, name)
    return _shown(ctx, name)


@router.post("/{name}/enable")
async def enable(name: str, ctx: Context = Depends(context)) -> Account:
    with ctx.db.transaction() as session:
        people.set_disabled(session, name, False)
    return _shown(ctx, name)


@router.delete("/{name}")
async def delete(name: str, ctx: Context = Depends(context)) -> dict[str, bool]:
    """Delete somebody; their ledger lines stay."""
    await accounts.delete(ctx, name)
    return {"ok": True}


@router.post("/{name}/credit")
async def credit(name: str, asked: Credit, ctx: Context = Depends(context)) -> Balance:
    """Book money that came in."""
    reference = asked.reference or secrets.token_hex(8)
    return Balance(balance_nano=accounts.credit(ctx, name, asked.amount, reference))


def _shown(ctx: Context, name: str) -> Account:
    with ctx.db.transaction() as session:
        return people.shown(people.get(session, name))
