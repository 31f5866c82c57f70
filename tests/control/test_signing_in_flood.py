"""A flood of sign-ins: hashing waits in line beside the event loop, and who comes too late is told to come again."""

from __future__ import annotations

import asyncio
import threading

import pytest
from gearshift.model.errors import GearshiftError
from gearshift_hub.control.services.sign_in import LONGEST_LINE, Hashing
from gearshift_testing.controls import Control, Person


async def test_while_passwords_are_hashed_everything_else_goes_on() -> None:
    hashing, free, at_work = Hashing(), threading.Event(), threading.Event()
    together: list[int] = []

    def work() -> str:
        together.append(len(together))
        at_work.set()
        assert free.wait(20)
        return "done"

    line = [asyncio.create_task(hashing.run(work)) for _ in range(LONGEST_LINE)]
    while not at_work.is_set():
        await asyncio.sleep(0)
    assert together == [0], "one at a time"
    with pytest.raises(GearshiftError) as refused:
        await hashing.run(work)
    assert (refused.value.code, refused.value.status) == ("too_many_attempts", 429)
    free.set()
    assert await asyncio.gather(*line) == ["done"] * LONGEST_LINE
    assert await hashing.run(work) == "done"


async def test_a_password_that_was_reset_while_it_was_hashed_lets_nobody_in(
    control: Control, alice: Person
) -> None:
    async with control.inside() as inside:
        code = (await inside.post("/internal/accounts/alice/reset")).json()["code"]
        body = {"name": "alice", "code": code, "password": "correct horse battery"}
        assert (await inside.post("/internal/accounts/activate", json=body)).status_code == 200
        checked = asyncio.create_task(inside.post("/internal/accounts/verify", json=body))
        while not control.internal.state.hashing._in_line:
            await asyncio.sleep(0)
        assert (await inside.post("/internal/accounts/alice/reset")).status_code == 200
        answer = await checked
    assert answer.json()["error"]["code"] == "wrong_sign_in"
