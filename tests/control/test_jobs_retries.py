"""Jobs that are tried again: each word of a retry has its own budget, faults in the code have none."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from gearshift_testing.controls import ON_SQLITE, Control, Person
from gearshift_testing.gangs import FakeJobs, Jobs

FAILURE = {"rank": 1, "node": 1, "message": "node 1 was lost", "at": "2026-11-30T20:52:16Z"}


pytestmark = ON_SQLITE
"""One kind of database is enough here: nothing is asked of it that the line's tests do not ask of both."""


async def run(jobs: Jobs, backend: FakeJobs, id: str) -> None:
    """Until it runs."""
    await jobs.turn()
    await jobs.turn()
    backend.gangs[id].runs()
    await jobs.turn()


def dies(backend: FakeJobs, id: str) -> None:
    """The supervisor is gone without a last word, as after kill -9."""
    backend.gangs[id].alive, backend.gangs[id].exit_code = False, -9


async def test_a_lost_supervisor_is_an_interruption_and_the_job_goes_on_in_its_place(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person, bob: Person
) -> None:
    id = await jobs.submit(alice, nodes=4, max_interruptions=1, deadline_seconds=3600)
    await run(jobs, backend, id)
    behind = await jobs.submit(bob, nodes=4)
    await control.clock.advance(1800)
    backend.gangs[id].beat += 1
    await jobs.turn()
    dies(backend, id)
    await jobs.turn()
    waits = await jobs.job(alice, id)
    assert (waits["state"], waits["reason"]) == ("queued", None)
    assert [(one["reason"], one["counts_as"]) for one in waits["attempts"]] == [("lost", "interruption")]
    assert waits["cost_nano"] == 2 * 10**9
    assert "interruption: try 1 of 1" in waits["note"]
    await run(jobs, backend, id)
    assert (await jobs.job(bob, behind))["state"] == "queued"
    again = backend.gangs[id].placement
    assert [one["attempt"] for one in again.attempts] == [0]
    assert again.spent_seconds == 1800
    dies(backend, id)
    await jobs.turn()
    ended = await jobs.job(alice, id)
    assert (ended["state"], ended["reason"]) == ("failed", "lost")
    assert [interval.closed_at is not None for interval in jobs.intervals(id)] == [True, True]
    await jobs.turn()
    assert (await jobs.job(bob, behind))["state"] == "starting"
    assert (await alice.get("/ledger/verify")).json()["ok"]


async def test_a_start_that_the_box_refuses_is_no_capacity_and_waits_longer_each_time(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await jobs.submit(alice, nodes=2, max_no_capacity=2, max_restarts=5, max_interruptions=5)
    for wait in (1, 2):
        backend.refuse = "no room for its processes"
        await jobs.turn()
        await jobs.turn()
        waits = await jobs.job(alice, id)
        assert (waits["state"], waits["attempts"], jobs.held()) == ("queued", [], 0)
        await control.clock.advance(wait - 0.5)
        await jobs.turn()
        assert (await jobs.job(alice, id))["state"] == "queued"
        await control.clock.advance(1)
    backend.refuse = "no room for its processes"
    await jobs.turn()
    await jobs.turn()
    ended = await jobs.job(alice, id)
    assert (ended["state"], ended["reason"], ended["cost_nano"]) == ("failed", "start_failed", 0)
    assert ended["note"] == "no room for its processes"


async def test_budgets_are_apart_and_a_fault_in_the_code_takes_none(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    faulty = await jobs.submit(alice, max_restarts=9, max_interruptions=9, max_no_capacity=9)
    lost = await jobs.submit(alice, max_restarts=9, max_no_capacity=9)
    for id in (faulty, lost):
        await run(jobs, backend, id)
    backend.gangs[faulty].ends("user_error", exit_code=1)
    dies(backend, lost)
    await jobs.turn()
    assert (await jobs.job(alice, faulty))["reason"] == "user_error"
    assert (await jobs.job(alice, lost))["reason"] == "lost"


async def test_what_a_supervisor_tells_of_attempts_counts_and_is_shown(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    """Two nodes were lost within the gang: the same budget is used up when the supervisor is lost too."""
    id = await jobs.submit(alice, nodes=2, max_interruptions=2)
    await run(jobs, backend, id)
    told = [
        {
            "attempt": n,
            "reason": "node_lost",
            "counts_as": "interruption",
            "first_failure": FAILURE,
            "ended_at": FAILURE["at"],
        }
        for n in (0, 1)
    ]
    backend.gangs[id].status = {**(backend.gangs[id].status or {}), "attempt": 2, "attempts": told}
    await jobs.turn()
    shown = (await jobs.job(alice, id))["attempts"]
    assert [(one["attempt"], one["first_failure"]["message"]) for one in shown] == [
        (0, "node 1 was lost"),
        (1, "node 1 was lost"),
    ]
    dies(backend, id)
    await jobs.turn()
    assert (await jobs.job(alice, id))["reason"] == "lost"


@pytest.mark.parametrize("nonsense", ["all", [{"attempt": -1}], [7], [{"attempt": 0, "ended_at": "never"}]])
async def test_nonsense_about_attempts_is_not_believed(
    jobs: Jobs, backend: FakeJobs, alice: Person, nonsense: Any
) -> None:
    id = await jobs.submit(alice, max_interruptions=1)
    await run(jobs, backend, id)
    backend.gangs[id].status = {**(backend.gangs[id].status or {}), "attempts": nonsense}
    await jobs.turn()
    assert (await jobs.job(alice, id))["state"] == "running"
    dies(backend, id)
    await jobs.turn()
    assert (await jobs.job(alice, id))["state"] == "queued"


async def test_a_cancelled_job_is_not_tried_again(jobs: Jobs, backend: FakeJobs, alice: Person) -> None:
    id = await jobs.submit(alice, max_interruptions=5)
    await run(jobs, backend, id)
    await alice.begin("cancel_job", job=id)
    dies(backend, id)
    await jobs.until(alice, id, "cancelled")


async def test_a_notice_gives_the_grace_and_the_job_goes_on_elsewhere(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await jobs.submit(alice, max_interruptions=1)
    await run(jobs, backend, id)
    assert (await notice(control, id)).json() == {"told": True}
    await jobs.turn()
    await jobs.turn()
    assert backend.stopped == [id]
    waits = await jobs.job(alice, id)
    assert (waits["state"], waits["attempts"][0]["reason"]) == ("queued", "interrupted")
    assert (await notice(control, id)).json() == {"told": False}
    assert (await notice(control, "job-00000000")).status_code == 404
    assert (await alice.post(f"/jobs/{id}/notice", {})).status_code in (404, 405)


async def notice(control: Control, id: str) -> httpx.Response:
    async with control.inside() as client:
        return await client.post(f"/internal/jobs/{id}/notice")


async def test_nodes_that_did_not_join_are_given_back_without_a_charge_and_tried_again(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await jobs.submit(alice, nodes=2, max_no_capacity=1)
    await jobs.turn()
    await jobs.turn()
    backend.gangs[id].runs()
    backend.gangs[id].status = {**(backend.gangs[id].status or {}), "state": "starting"}
    await control.clock.advance(50)
    backend.gangs[id].ends("did_not_join", state="failed")
    await jobs.turn()
    waits = await jobs.job(alice, id)
    assert (waits["state"], waits["cost_nano"], jobs.held()) == ("queued", 0, 0)
    assert [one["counts_as"] for one in waits["attempts"]] == ["no-capacity"]
