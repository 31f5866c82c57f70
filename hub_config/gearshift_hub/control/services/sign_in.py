"""Passwords: checked and set beside the event loop, one at a time, so that a flood of sign-ins stops nobody's work.

A hash takes a tenth of a second of a core and much memory on purpose. Who comes when the line is full is told to come
again; nobody is locked out by somebody else's wrong passwords.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from gearshift.model.errors import fail

from gearshift_hub.control.context import Context
from gearshift_hub.control.db.accounts import AccountRow
from gearshift_hub.control.services import people

T = TypeVar("T")

LONGEST_LINE = 16
AGAIN_S = 5


class Hashing:
    """The line before the one who hashes."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)
        self._in_line = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Raises `too_many_attempts` when too many are in line already."""
        if self._in_line >= LONGEST_LINE:
            raise fail("too_many_attempts", seconds=AGAIN_S)
        self._in_line += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(work)
        finally:
            self._in_line -= 1


async def verify(ctx: Context, hashing: Hashing, name: str, password: str) -> AccountRow | None:
    """The account of this name and password; None when it was the one-time code in place of a password."""
    with ctx.db.transaction() as session:
        if people.needs_code(session, name, password):
            return None
        stored = people.stored_hash(session, name)
    renewed = await hashing.run(lambda: people.check_password(stored, password))
    with ctx.db.transaction() as session:
        return people.signed_in(session, name, stored, renewed)


async def activate(ctx: Context, hashing: Hashing, name: str, code: str, password: str) -> AccountRow:
    """Set the password with the one-time code, which is used up by that."""
    with ctx.db.transaction() as session:
        people.check_code(session, name, code)
        people.check_new_password(password)
    hashed = await hashing.run(lambda: people.hash_password(password))
    with ctx.db.transaction() as session:
        return people.activate(session, name, code, hashed)
