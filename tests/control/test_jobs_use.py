"""What a running job uses: measured by the box, never taken from its submitter's files, told only now and then."""

from __future__ import annotations

import pytest
from gearshift.magics import words
from gearshift_testing.controls import Control, Person
from gearshift_testing.gangs import FakeJobs, Jobs

GB = 10**9


async def test_memory_and_processors_of_a_running_job_are_those_of_all_its_nodes(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await jobs.submit(alice, nodes=2)
    await jobs.turn()
    gang = backend.gangs[id]
    gang.runs()
    gang.cpu_seconds, gang.memory_bytes = 10.0, GB
    await jobs.turn()
    first = (await jobs.job(alice, id))["use"]
    machine = next(one for one in (await alice.get("/catalog")).json()["machines"] if one["id"] == "sim-1")
    assert (first["memory_bytes"], first["cores"]) == (GB, None), "processors need two samples"
    assert first["memory_has_bytes"] == 2 * machine["memory_bytes"]
    await control.clock.advance(10)
    gang.cpu_seconds, gang.beat = 25.0, 1
    await jobs.turn()
    assert (await jobs.job(alice, id))["use"]["cores"] == 1.5
    gang.ends()
    await jobs.turn()
    assert (await jobs.job(alice, id))["use"] is None


async def test_it_is_sampled_only_now_and_then(
    jobs: Jobs, backend: FakeJobs, control: Control, alice: Person
) -> None:
    id = await jobs.submit(alice)
    await jobs.turn()
    gang = backend.gangs[id]
    gang.runs()
    gang.memory_bytes = GB
    await jobs.turn()
    gang.memory_bytes = 2 * GB
    await control.clock.advance(1)
    await jobs.turn()
    assert (await jobs.job(alice, id))["use"]["memory_bytes"] == GB
    await control.clock.advance(4)
    await jobs.turn()
    assert (await jobs.job(alice, id))["use"]["memory_bytes"] == 2 * GB


async def test_the_submitters_own_word_counts_for_nothing(
    jobs: Jobs, backend: FakeJobs, alice: Person
) -> None:
    id = await jobs.submit(alice)
    await jobs.turn()
    gang = backend.gangs[id]
    gang.runs()
    assert gang.status is not None
    gang.status["use"] = {"memory_bytes": 1, "memory_has_bytes": 2, "cores": 0.0, "cores_has": 64.0}
    await jobs.turn()
    assert (await jobs.job(alice, id))["use"] is None, "this box measures nothing"


def test_it_is_said_in_both_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEARSHIFT_LANGUAGE", "en")
    use = {"memory_bytes": GB, "memory_has_bytes": 4 * GB, "cores": 1.5, "cores_has": 2.0}
    assert words.use(use) == "1 GB of 4 GB memory, 1.5 of 2 cores"
    assert words.use(use | {"cores": None}) == "1 GB of 4 GB memory"
    monkeypatch.setenv("GEARSHIFT_LANGUAGE", "zh")
    assert words.use(use) == "内存 1 GB，共 4 GB；处理器 1.5 核，共 2 核"
