"""Jobs in control with gangs in memory: what a supervisor says and does not say, ends, and what a kill of control leaves."""

from __future__ import annotations

from typing import Any

import pytest
from gearshift_testing.controls import Control, Person
from gearshift_testing.gangs import FakeJobs, Jobs


async def test_a_supervisor_without_a_sign_of_life_is_ended_as_lost(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await jobs.submit(alice)
    await jobs.turn()
    backend.gangs[id].runs()
    await jobs.turn()
    await control.clock.advance(21)
    await jobs.turn()
    await jobs.turn()
    ended = await jobs.job(alice, id)
    assert (ended["state"], ended["reason"]) == ("failed", "lost")
    assert jobs.held() == 0


async def test_ranks_that_do_not_come_up_in_time_give_the_nodes_back_without_a_charge(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await jobs.submit(alice, nodes=2)
    await jobs.turn()
    await jobs.turn()
    await control.clock.advance(61)
    await jobs.turn()
    await jobs.turn()
    ended = await jobs.job(alice, id)
    assert (ended["state"], ended["reason"], ended["cost_nano"]) == ("failed", "did_not_join", 0)
    assert jobs.held() == 0


@pytest.mark.parametrize("said", [None, {"state": "starting", "ranks": []}])
async def test_a_gang_that_computes_while_its_files_say_it_starts_is_charged_from_its_start(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person, said: dict[str, Any] | None
) -> None:
    id = await jobs.submit(alice)
    await jobs.turn()
    await jobs.turn()
    gang = backend.gangs[id]
    gang.status, gang.cpu_seconds = said, 9.0
    await control.clock.advance(30)
    await jobs.turn()
    assert (await jobs.job(alice, id))["state"] == "starting"
    gang.cpu_seconds = 11.0
    await jobs.turn()
    assert (await jobs.job(alice, id))["state"] == "running"
    await control.clock.advance(30)
    gang.alive, gang.exit_code = False, 0
    await jobs.turn()
    assert (await jobs.job(alice, id))["cost_nano"] == 16_666_667


async def test_a_killed_control_finds_its_gangs_again_and_closes_what_ended_meanwhile(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    ended, runs, recorded = [await jobs.submit(alice) for _ in range(3)]
    await jobs.turn()
    for id in (ended, runs):
        backend.gangs[id].runs()
    await jobs.turn()
    del backend.gangs[recorded]
    backend.strays = ["job-0badcafe"]
    half_an_hour_later = "2026-11-30T21:22:16Z"
    await control.clock.advance(3600)
    backend.gangs[ended].ends(ended_at=half_an_hour_later)
    backend.gangs[runs].beat = 1
    new = await control.again()
    try:
        fresh, again = new.person("alice"), Jobs(new, backend)
        await again.turn()
        done = await again.job(fresh, ended)
        assert (done["state"], done["cost_nano"]) == ("succeeded", 10**9 // 2)
        assert (await again.job(fresh, runs))["state"] == "running"
        assert backend.gangs[recorded].alive
        assert backend.strays == []
        assert again.held() == 2
        assert (await fresh.get("/ledger/verify")).json()["ok"]
    finally:
        await new.engine.close()
        new.db.close()


async def test_shutting_down_ends_gangs_and_keeps_the_line(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    running, waiting = await jobs.submit(alice, nodes=4), await jobs.submit(alice, nodes=4)
    await jobs.turn()
    backend.gangs[running].runs()
    await jobs.turn()
    await jobs.loop.shut_down()
    ended = await jobs.job(alice, running)
    assert (ended["state"], ended["ended_by"]) == ("cancelled", "shutdown")
    assert (await jobs.job(alice, waiting))["state"] == "queued"
    assert jobs.held() == 0


async def test_a_deepspeed_job_waits_free_of_charge_while_its_operator_is_compiled(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    backend.preparing = "Compiling: about a minute."
    id, other = await jobs.submit(alice, launch="deepspeed"), await jobs.submit(alice)
    await jobs.turn()
    waiting = await jobs.job(alice, id)
    assert (waiting["state"], waiting["note"]) == ("queued", "Compiling: about a minute.")
    assert (await jobs.job(alice, other))["state"] == "starting"
    backend.preparing = None
    await jobs.turn()
    assert (await jobs.job(alice, id))["state"] == "starting"


async def test_what_a_supervisor_writes_is_data_and_nothing_else(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    """The submitter owns the status file: nonsense in it changes neither money nor state."""
    id = await jobs.submit(alice)
    await jobs.turn()
    backend.gangs[id].runs()
    await jobs.turn()
    for beat, nonsense in enumerate(({"state": 7}, {"ranks": "all"}, {"first_failure": {"at": "never"}}), 1):
        backend.gangs[id].status, backend.gangs[id].beat = nonsense, beat
        await control.clock.advance(10)
        await jobs.turn()
        assert (await jobs.job(alice, id))["state"] == "running"
    backend.gangs[id].ends(ended_at="2026-11-30T20:52:16Z", running_at="2099-01-01T00:00:00Z")
    await jobs.turn()
    assert (await jobs.job(alice, id))["cost_nano"] == 10**9 * 30 // 3600


@pytest.mark.parametrize("attempt", [-5, "5.0", "x", None, True, 10**400, 2**60])
async def test_whatever_a_job_says_of_its_attempt_its_log_and_curve_can_be_read(
    jobs: Jobs, backend: FakeJobs, alice: Person, attempt: object
) -> None:
    id = await jobs.submit(alice)
    await jobs.turn()
    backend.gangs[id].runs()
    backend.gangs[id].status = {**(backend.gangs[id].status or {}), "attempt": attempt}
    await jobs.turn()
    for path in (f"/jobs/{id}/logs", f"/jobs/{id}/metrics", "/jobs"):
        answer = await alice.get(path)
        assert answer.status_code == 200, answer.text
    kept = jobs.row(id).status.get("attempt", 0)
    assert isinstance(kept, int)
    assert 0 <= kept <= 2**53


async def test_every_change_of_state_is_told_to_the_owner_only(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person, bob: Person
) -> None:
    from gearshift_hub.control.events import Audience

    id = await jobs.submit(alice)
    await jobs.turn()
    backend.gangs[id].runs()
    await jobs.turn()
    backend.gangs[id].ends()
    await jobs.turn()
    told = control.ctx.events.after(0, Audience("alice"))
    states = [event.data["job"]["state"] for event in told if event.kind == "job.state"]
    assert states == ["queued", "starting", "running", "succeeded"]
    assert not [event for event in control.ctx.events.after(0, Audience("bob")) if event.kind == "job.state"]
