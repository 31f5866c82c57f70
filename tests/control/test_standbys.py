"""After a job torch stays in memory for its person's next one: whom it serves, what it costs, and that no job needs it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from gearshift.train.gang import doorbell, sweep
from gearshift_hub.backends.local import standbys
from gearshift_hub.backends.local.jobs import LocalJobs
from gearshift_testing.controls import ON_SQLITE, Control, Person
from gearshift_testing.driving import until
from gearshift_testing.gangs import DirectTrees, Jobs

ENDED = ("succeeded", "failed", "cancelled")
ASKS = "import sys; print('imported', 'torch' in sys.modules)"


pytestmark = ON_SQLITE
"""One kind of database is enough here: the processes are what is looked at."""


@pytest.fixture
def jobs(control: Control, trees: DirectTrees) -> Iterator[Jobs]:
    made = Jobs.real(control, trees, warm_seconds=120)
    yield made
    made.backend.close()


class KilledError(BaseException):
    """Control is gone at this very line: no handler of its own may run."""


def waiting(trees: DirectTrees) -> list[str]:
    return [name for name in trees.names() if name.startswith(standbys.PREFIX)]


async def warmed(jobs: Jobs, trees: DirectTrees, who: Person) -> str:
    """Run a job, and wait for the standby that comes after it."""
    await run(jobs, who)
    (tree,) = until(lambda: waiting(trees), 60, "a standby")
    folder = jobs.control.ctx.home.jobs / "standby" / tree
    until(lambda: doorbell.is_waited_at(folder), 60, "it is ready")
    return str(tree)


async def run(jobs: Jobs, who: Person, source: str = ASKS, **fields: Any) -> str:
    """What rank 0 of a job said."""
    jobs.home_of(who)
    id = await jobs.submit(who, source, **fields)
    done = await jobs.until(who, id, *ENDED)
    assert done["state"] == "succeeded", done
    return (jobs.control.ctx.home.jobs / id / "out/attempts/0/rank-0.log").read_text()


async def test_the_next_job_of_a_person_finds_torch_imported_and_a_waiting_standby_costs_nothing(
    jobs: Jobs, trees: DirectTrees, control: Control, alice: Person
) -> None:
    tree = await warmed(jobs, trees, alice)
    assert jobs.held() == 0
    assert jobs.backend.trees() == []
    assert trees.resized[tree] == standbys.WAITING
    log = await run(jobs, alice, ASKS + "; import os; print('as', os.getuid(), flush=True)")
    assert log.startswith("imported True\nas ")
    if os.geteuid() == 0:
        assert int(log.split()[3]) >= 20000
    assert trees.resized[tree].pids > standbys.WAITING.pids
    assert not trees.alive(tree)
    after = until(lambda: waiting(trees), 60, "a standby")
    assert after != [tree]


async def test_a_standby_serves_only_its_owner_and_only_jobs_of_its_kind(
    jobs: Jobs, trees: DirectTrees, alice: Person, bob: Person
) -> None:
    tree = await warmed(jobs, trees, alice)
    assert await run(jobs, bob) == "imported False\n"
    assert trees.alive(tree)
    assert await run(jobs, alice, env={"OMP_PROC_BIND": "true"}) == "imported False\n"
    assert not trees.alive(tree)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("template", [True, False])
async def test_a_standby_that_is_killed_or_hangs_is_ended_and_the_job_starts_without(
    jobs: Jobs, trees: DirectTrees, alice: Person, number: signal.Signals, template: bool
) -> None:
    tree = await warmed(jobs, trees, alice)
    leader = trees.processes[tree].pid
    below = sweep.descendants(leader)
    supervisor = min(below) if number is signal.SIGSTOP else leader
    os.kill(_template(below) if template else supervisor, number)
    if template and number is signal.SIGKILL:
        until(lambda: not trees.alive(tree), 60, "it has ended")
    assert await run(jobs, alice) == "imported False\n"
    until(lambda: not any(_runs(pid) for pid in (leader, *below)), 60, "nothing of it runs")


async def test_a_control_that_comes_back_keeps_a_job_that_was_handed_over_and_ends_what_waits(
    jobs: Jobs, trees: DirectTrees, control: Control, alice: Person, tmp_path: Path
) -> None:
    tree = await warmed(jobs, trees, alice)
    go = jobs.home_of(alice) / "go-on"
    source = f"{ASKS}; import os, time\nwhile not os.path.exists('go-on'): time.sleep(0.05)"
    id = await jobs.submit(alice, source)
    await jobs.until(alice, id, "running")
    next_one = Jobs(control, LocalJobs(control.ctx.home, sys.executable, private=True, trees=trees))
    await next_one.turn()
    assert next_one.backend.trees() == [id]
    assert trees.alive(tree)
    go.touch()
    assert (await next_one.until(alice, id, *ENDED))["state"] == "succeeded"
    assert not trees.alive(tree)


async def test_a_job_that_was_just_being_handed_over_when_control_was_killed_is_started_once(
    jobs: Jobs, trees: DirectTrees, control: Control, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both instants: before the standby was told, and after it had begun."""
    for rung in (False, True):
        tree = await warmed(jobs, trees, alice)

        with monkeypatch.context() as patch:
            patch.setattr(doorbell, "ring", partial(_killed_while_ringing, doorbell.ring if rung else None))
            id = await jobs.submit(alice, f"{ASKS}; import time; time.sleep(1)")
            await jobs.loop.turn()
            with pytest.raises(KilledError):
                await jobs.settle()
        assert jobs.row(id).state == "starting"
        jobs.backend.close()
        jobs = Jobs.real(control, trees, warm_seconds=120)
        done = await jobs.until(alice, id, *ENDED)
        assert (done["state"], len(done["attempts"])) == ("succeeded", 0), done
        assert not trees.alive(tree)
        log = control.ctx.home.jobs / id / "out/attempts/0/rank-0.log"
        assert log.read_text().endswith("imported False\n")
        until(lambda: waiting(trees), 60, "a standby")
        jobs.backend.forget("alice")
    jobs.backend.close()


async def test_standbys_end_with_their_person_and_with_the_deployment(
    jobs: Jobs, trees: DirectTrees, alice: Person
) -> None:
    await warmed(jobs, trees, alice)
    jobs.backend.forget("alice")
    assert waiting(trees) == []
    await warmed(jobs, trees, alice)
    jobs.backend.close()
    assert waiting(trees) == []
    assert list((jobs.control.ctx.home.jobs / "standby").iterdir()) == []


async def test_no_standby_where_the_box_has_no_memory_to_spare_or_the_deployment_wants_none(
    control: Control, trees: DirectTrees, alice: Person, tmp_path: Path
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 1000 kB\nMemAvailable: 190 kB\n")
    assert not standbys.has_room(meminfo)
    without = Jobs.real(control, trees)
    assert await run(without, alice) == "imported False\n"
    without.backend.close()
    assert waiting(trees) == []


def _killed_while_ringing(ring: Callable[..., bool] | None, *given: Any) -> bool:
    if ring is not None:
        assert ring(*given)
    raise KilledError


def _template(pids: list[int]) -> int:
    for pid in pids:
        if b"gearshift.train.template" in (Path("/proc") / str(pid) / "cmdline").read_bytes():
            return pid
    raise AssertionError("no template")


def _runs(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
