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


def activate(session: Session, name: str, code: str, password: str) -> None:
    """Set the password with the one-time code, which is used up by that."""
    row = session.get(AccountRow, name)
    expected = row.code_hash if row is not None and row.deleted_at is None else None
    if not hmac.compare_digest(_code_hash(name, code), expected or "none"):
        raise fail("wrong_code", field="code")
    assert row is not None
    if row.disabled:
        raise fail("disabled_user", field="name", value=name)
    if len(password) < PASSWORD_MINIMUM:
        raise fail("bad_password", field="password", minimum=PASSWORD_MINIMUM)
    row.password_hash, row.code_hash = _hasher.hash(password), None


def verify(session: Session, name: str, password: str) -> AccountRow:
    """The account, if the password is theirs; an unknown name takes as long to refuse as a wrong password."""
    row = session.get(AccountRow, name)
    known = row is not None and row.deleted_at is None and row.password_hash is not None
    stored = row.password_hash if row is not None and known and row.password_hash else _dummy_hash()
    if not _matches(stored, password) or row is None or not known:
        raise fail("wrong_sign_in")
    if row.disabled:
        raise fail("disabled_user", field="name", value=name)
    if _hasher.check_needs_rehash(stored):
        row.password_hash = _hasher.hash(password)
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
