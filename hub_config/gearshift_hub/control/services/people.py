"""People: accounts with their one-time codes and passwords, the uid that each gets once, and their opening credit.

A name and a uid are given once: a deleted person's row stays, for the ledger and so that neither is given again.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from gearshift.model.errors import fail
from gearshift.model.record import Instant, Record
from gearshift.model.slug import slug
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.services import ledger

PASSWORD_MINIMUM = 8
NAME_RULE = "1-255 characters without / or spaces at the ends"
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
DUMMY_NAME = "somebody"

_hasher = PasswordHasher()


class Account(Record):
    """A person as `gearshift user ls` shows them."""

    name: str
    slug: str
    uid: int
    admin: bool
    disabled: bool
    activated: bool
    created_at: Instant
    deleted_at: Instant | None = None


def add(ctx: Context, session: Session, name: str, *, admin: bool) -> str:
    """A new person; returns the one-time code that is typed into the form. Opening credit comes with it."""
    name = unicodedata.normalize("NFC", name)
    _check_name(name)
    if session.get(AccountRow, name) is not None:
        raise fail("user_exists", field="name", value=name)
    code = _new_code()
    row = AccountRow(
        name=name,
        slug=slug(name),
        uid=_next_uid(ctx, session),
        admin=admin,
        code_hash=_code_hash(name, code),
        created_at=ctx.clock.now(),
    )
    session.add(row)
    session.flush()
    amount = ctx.deployment.people.opening_credit_nano
    if amount:
        ledger.add_credit(session, name, amount, ctx.clock.now(), f"opening:{name}", "opening credit")
    return code


def get(session: Session, name: str) -> AccountRow:
    """The row of somebody who is not deleted, or `unknown_user`."""
    row = session.get(AccountRow, name)
    if row is None or row.deleted_at is not None:
        raise fail("unknown_user", field="name", value=name)
    return row


def listed(session: Session) -> list[Account]:
    query = select(AccountRow).where(AccountRow.deleted_at.is_(None)).order_by(AccountRow.name)
    return [shown(row) for row in session.scalars(query)]


def shown(row: AccountRow) -> Account:
    return Account(
        name=row.name,
        slug=row.slug,
        uid=row.uid,
        admin=row.admin,
        disabled=row.disabled,
        activated=row.password_hash is not None,
        created_at=row.created_at,
        deleted_at=row.deleted_at,
    )


def reset(session: Session, name: str) -> str:
    """Forget the password; returns a new one-time code."""
    row = get(session, name)
    code = _new_code()
    row.password_hash, row.code_hash = None, _code_hash(name, code)
    return code


def check_code(session: Session, name: str, code: str) -> AccountRow:
    """The row whose one-time code this is; raises `wrong_code` or `disabled_user`."""
    row = session.get(AccountRow, name)
    expected = row.code_hash if row is not None and row.deleted_at is None else None
    if not hmac.compare_digest(_code_hash(name, code), expected or "none"):
        raise fail("wrong_code", field="code")
    assert row is not None
    if row.disabled:
        raise fail("disabled_user", field="name", value=name)
    return row


def check_new_password(password: str) -> None:
    if len(password) < PASSWORD_MINIMUM:
        raise fail("bad_password", field="password", minimum=PASSWORD_MINIMUM)


def hash_password(password: str) -> str:
    """Slow on purpose: not to be called in the event loop."""
    return _hasher.hash(password)


def activate(session: Session, name: str, code: str, hashed: str) -> AccountRow:
    """Put the password in the place of the one-time code."""
    row = check_code(session, name, code)
    row.password_hash, row.code_hash = hashed, None
    return row


def stored_hash(session: Session, name: str) -> str | None:
    """The hash of this person's password; None for nobody and for who has none."""
    row = session.get(AccountRow, name)
    return row.password_hash if row is not None and row.deleted_at is None else None


def check_password(stored: str | None, password: str) -> str | None:
    """The hash to keep if the password is right, else None; slow on purpose, as slow where there is no such person."""
    if not _matches(stored or _dummy_hash(), password) or stored is None:
        return None
    return _hasher.hash(password) if _hasher.check_needs_rehash(stored) else stored


def signed_in(session: Session, name: str, stored: str | None, kept: str | None) -> AccountRow:
    """The account, if `check_password` found the password right and it is still theirs; else `wrong_sign_in`."""
    row = session.get(AccountRow, name)
    if row is None or row.deleted_at is not None or kept is None or row.password_hash != stored:
        raise fail("wrong_sign_in")
    if row.disabled:
        raise fail("disabled_user", field="name", value=name)
    row.password_hash = kept
    return row


def needs_code(session: Session, name: str, password: str) -> bool:
    """Whether this is a first sign-in with the one-time code in place of a password."""
    row = session.get(AccountRow, name)
    if row is None or row.deleted_at is not None or row.code_hash is None:
        return False
    return hmac.compare_digest(_code_hash(name, password), row.code_hash)


def set_disabled(session: Session, name: str, disabled: bool) -> None:
    get(session, name).disabled = disabled


def bury(ctx: Context, session: Session, name: str) -> None:
    """Deleted: nobody can sign in as them; name, uid and ledger lines stay taken."""
    row = get(session, name)
    row.deleted_at, row.disabled = ctx.clock.now(), True
    row.password_hash = row.code_hash = None


def _check_name(name: str) -> None:
    bad = not 1 <= len(name) <= 255 or "/" in name or name != name.strip() or not name.isprintable()
    if bad:
        raise fail("bad_request", field="name", value=name, allowed=[NAME_RULE], problem="not a user name")


def _next_uid(ctx: Context, session: Session) -> int:
    """The one after the highest that was ever given."""
    people = ctx.deployment.people
    highest = session.scalar(select(func.max(AccountRow.uid)))
    uid = people.uid_from if highest is None else max(highest + 1, people.uid_from)
    if uid > people.uid_to:
        raise fail(
            "limit_reached",
            field="name",
            used=people.uid_to - people.uid_from + 1,
            limit=people.uid_to - people.uid_from + 1,
            what="uids of people.uid_from to people.uid_to",
            what_zh="用户 uid",
        )
    return uid


def _new_code() -> str:
    letters = [secrets.choice(CODE_LETTERS) for _ in range(16)]
    return "-".join("".join(letters[start : start + 4]) for start in range(0, 16, 4))


def _code_hash(name: str, code: str) -> str:
    """Codes are random enough for a plain hash; spelling of case, spaces and hyphens does not matter."""
    plain = code.upper().replace("-", "").replace(" ", "")
    return hashlib.sha256(f"{name}\n{plain}".encode()).hexdigest()


def _matches(stored: str, password: str) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False


def _dummy_hash() -> str:
    if not _dummy:
        _dummy.append(_hasher.hash(DUMMY_NAME))
    return _dummy[0]


_dummy: list[str] = []
