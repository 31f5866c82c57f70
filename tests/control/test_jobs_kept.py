"""How long what a job left is kept, what is told when it is not there any more, and how a shortened log reads."""

from __future__ import annotations

from typing import Any

from gearshift_hub.backends.jobs import Page
from gearshift_hub.control.services import jobs as job_service
from gearshift_testing.controls import Control, Person
from gearshift_testing.gangs import FakeJobs, Jobs

DAY_S = 86_400
GONE = ("logs", "metrics", "result")


async def ended(jobs: Jobs, backend: FakeJobs, who: Person, **spec: Any) -> str:
    """A job that has come to its end."""
    id = await jobs.submit(who, **spec)
    await jobs.turn()
    backend.gangs[id].runs()
    await jobs.turn()
    backend.gangs[id].ends()
    backend.gangs[id].status = {**(backend.gangs[id].status or {}), "checkpoint_step": 5}
    await jobs.turn()
    return id


async def test_files_go_after_the_days_of_the_deployment_and_not_before(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await ended(jobs, backend, alice)
    told = (await jobs.job(alice, id))["files_until"]
    await control.clock.advance(30 * DAY_S - 60)
    await job_service.forget_files(control.ctx)
    assert (await jobs.job(alice, id))["files_until"] == told
    assert id in backend.gangs
    await control.clock.advance(120)
    await job_service.forget_files(control.ctx)
    assert id not in backend.gangs
    after = await jobs.job(alice, id)
    assert (after["state"], after["files_until"]) == ("succeeded", None)
    assert after["files_gone_at"] is not None
    for what in GONE:
        answer = await alice.get(f"/jobs/{id}/{what}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "job_files_gone"), what
        assert "30 days" in answer.json()["error"]["message"]


async def test_a_job_that_waits_to_go_on_from_checkpoints_keeps_them(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    first = await ended(jobs, backend, alice)
    running = await jobs.submit(alice, nodes=4)
    await jobs.turn()
    backend.gangs[running].runs()
    waiting = await jobs.submit(alice, nodes=4, resume=first)
    await control.clock.advance(31 * DAY_S)
    await job_service.forget_files(control.ctx)
    assert first in backend.gangs
    plan = await alice.begin("cancel_job", job=waiting)
    assert plan["state"] == "cancelled"
    await job_service.forget_files(control.ctx)
    assert first not in backend.gangs
    refused = await alice.post("/plans", {"kind": "job", "spec": await jobs.spec(alice, resume=first)})
    assert refused.json()["error"]["code"] == "job_files_gone"
    assert running in backend.gangs


async def test_a_shortened_log_says_how_much_is_missing_and_where(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    id = await ended(jobs, backend, alice)
    backend.pages = {
        0: Page("字".encode()[:2], 0, 3002, cut=True),
        2: Page(b"end", 2999, 3002, left_out=2997),
    }
    first = (await alice.get(f"/jobs/{id}/logs")).json()
    assert (first["offset"], first["done"]) == (2, False)
    rest = (await alice.get(f"/jobs/{id}/logs", offset=2)).json()
    assert rest["text"].endswith("end")
    assert "3 kB" in rest["text"], rest
    assert (rest["offset"], rest["done"]) == (3002, True)
