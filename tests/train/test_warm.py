"""Ranks forked from a template: the same as ranks that were started, sooner; and nothing is lost with the template."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gearshift.train.gang import doorbell, standby
from gearshift_testing.real_gangs import STUBBORN, Gang, gangs, gone

Make = Callable[..., Gang]

SAME = """
    import json, os, random, resource, signal, sys
    import numpy, torch
    import torch.distributed as dist
    from gearshift import train
    dist.init_process_group("gloo")
    total = torch.ones(1) * (dist.get_rank() + 1)
    dist.all_reduce(total)
    names = set(os.environ) - {"GS_METRICS_FD"}
    capabilities = [line for line in open("/proc/self/status") if line.startswith(("Cap", "NoNewPrivs", "SigBlk", "SigIgn"))]
    print("facts", json.dumps({
        "sum": total.item(), "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": str(sys.flags),
        "main": sorted(sys.modules["__main__"].__dict__)[:3], "cwd": os.getcwd(), "capabilities": capabilities,
        "env": sorted(names), "limits": [resource.getrlimit(one) for one in (resource.RLIMIT_DATA, resource.RLIMIT_NOFILE)],
        "leader": os.getsid(0) == os.getpid(), "parent": os.getppid(), "umask": os.umask(0o77),
        "signals": [str(signal.getsignal(one)) for one in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE)],
        "timeout": str(dist.distributed_c10d._get_default_timeout("gloo")), "address": os.environ["GS_NODE_ADDRESS"],
        "threads": torch.get_num_threads(), "stdin": os.readlink("/proc/self/fd/0"),
    }))
    print("random", random.random(), numpy.random.rand(), torch.rand(1).item(), flush=True)
    os.write(int(os.environ["GS_METRICS_FD"]), b"")
    train.log(step=1, loss=0.5)
    import atexit
    atexit.register(lambda: print("at exit"))
    def late(x):
        raise ValueError("no such word")
    if dist.get_rank() == 1:
        dist.barrier()
        late(1)
    dist.barrier()
    dist.destroy_process_group()
    sys.exit(0)
"""


@pytest.fixture
def gang() -> Iterator[Make]:
    with gangs() as make:
        yield make


def facts(job: Gang, rank: int) -> str:
    return next(line for line in job.log(rank).splitlines() if line.startswith("facts"))


@pytest.mark.parametrize("private_network", [True, False])
def test_a_forked_rank_finds_and_leaves_the_same_as_a_started_one(gang: Make, private_network: bool) -> None:
    fields = {"nodes": 2, "private_network": private_network, "node_networks": private_network}
    fields |= {
        "memory_bytes": 4 * 1024**3,
        "group_timeout_seconds": 77.0,
        "argv": ("--epochs", "3"),
        "cwd": "/var/tmp",
    }
    cold, warm = gang(SAME, **fields).run(), gang(SAME, **fields).run_warm()
    for rank in (0, 1):
        assert facts(warm, rank).replace(warm.order.root, "") == facts(cold, rank).replace(
            cold.order.root, ""
        )
        assert re.sub(r"(facts|random) .*", "", warm.log(rank)) == re.sub(
            r"(facts|random) .*", "", cold.log(rank)
        )
    assert warm.status["exit_code"] == cold.status["exit_code"] == 1
    assert warm.process.returncode == cold.process.returncode == 65
    first, second = (job.status["first_failure"] for job in (warm, cold))
    own = {"at": 0, "time_ns": 0, "last_lines": []}
    assert first | own == second | own
    assert first["traceback"].endswith("ValueError: no such word")
    assert [(p["rank"], p["step"], p["loss"]) for p in warm.metrics] == [(0, 1, 0.5), (1, 1, 0.5)]
    drawn = [
        line.split()[1:]
        for rank in (0, 1)
        for line in warm.log(rank).splitlines()
        if line.startswith("random")
    ]
    assert all(one != other for one, other in zip(*drawn, strict=True))
    assert warm.left() == []


@pytest.mark.parametrize("private_network", [True, False])
def test_of_stubborn_forked_ranks_and_their_daemons_nothing_is_left(
    gang: Make, private_network: bool
) -> None:
    job = gang(STUBBORN, nodes=2, grace_seconds=0.3, private_network=private_network, max_restarts=1).warm()
    template = job.template()
    assert job.adopt()
    job.until(lambda job: all("up" in job.log(rank) for rank in (0, 1)))
    seen = job.seen()
    assert len(seen) >= 8 + 2 + 1
    assert template in {pid for pid, _ in seen}
    job.process.terminate()
    job.wait()
    assert job.status["state"] == "cancelled"
    assert gone(seen)


def test_killing_the_supervisor_of_forked_ranks_leaves_nothing(gang: Make) -> None:
    job = gang(STUBBORN, nodes=2, max_restarts=1).warm()
    assert job.adopt()
    job.until(lambda job: all("up" in job.log(rank) for rank in (0, 1)))
    seen = job.seen()
    job.process.kill()
    job.wait()
    assert gone(seen)


def test_a_killed_forked_rank_is_told_by_its_signal_and_the_next_attempt_is_forked_too(gang: Make) -> None:
    job = gang(
        """
        import os, signal, sys
        print("imported", "torch" in sys.modules, flush=True)
        if os.environ["GS_ATTEMPT"] == "0" and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        if os.environ["GS_ATTEMPT"] == "0":
            signal.pause()
        """,
        nodes=2,
        max_restarts=1,
    ).run_warm()
    assert job.status["state"] == "succeeded", job.status
    assert job.status["attempts"][0]["first_failure"]["signal"] == signal.SIGKILL
    assert [job.log(rank, attempt) for rank in (0, 1) for attempt in (0, 1)] == ["imported True\n"] * 4


ASKS = "import sys; print('imported', 'torch' in sys.modules)"


def test_a_template_that_is_killed_or_stopped_costs_time_and_no_job(gang: Make) -> None:
    job = gang(ASKS, nodes=2).warm()
    os.kill(job.template(), signal.SIGSTOP)
    assert job.adopt()
    job.wait()
    assert job.status["state"] == "succeeded", job.status
    assert [job.log(rank) for rank in (0, 1)] == ["imported False\n"] * 2

    between = gang(
        """
        import os, signal, sys
        print("imported", "torch" in sys.modules, flush=True)
        if os.environ["GS_ATTEMPT"] == "0":
            signal.pause()
        """,
        max_restarts=1,
    ).warm()
    template = between.template()
    assert between.adopt()
    between.until(lambda job: "imported True" in job.log(0))
    os.kill(template, signal.SIGKILL)
    (rank,) = between.seen("gs-rank-0")
    os.kill(rank[0], signal.SIGKILL)
    between.wait()
    assert between.status["state"] == "succeeded", between.status
    assert between.log(0, 1) == "imported False\n"


def test_a_package_that_changed_since_is_imported_anew(gang: Make, tmp_path: Path) -> None:
    job = gang(ASKS, env={"PYTHONPATH": str(tmp_path)}).warm()
    (tmp_path / "new.py").write_text("")
    assert job.adopt()
    job.wait()
    assert job.log(0) == "imported False\n"


def test_a_standby_ends_when_nobody_came_when_it_is_asked_to_and_with_its_template(gang: Make) -> None:
    idle = gang(ASKS).stand_by(seconds=0.2)
    assert idle.wait() == 0
    assert not doorbell.is_waited_at(idle.standby)
    asked = gang(ASKS).stand_by()
    asked.until(_imports)  # before, it has no handler yet and would end by the signal itself
    asked.process.terminate()
    assert asked.wait() == 0
    alone = gang(ASKS).warm()
    seen = alone.seen()
    os.kill(alone.template(), signal.SIGKILL)
    assert alone.wait() == 0
    assert gone(seen)
    assert not alone.adopt(0.1)
    assert not idle.adopt(0.1)


def _imports(gang: Gang) -> bool:
    try:
        return bool(gang.template())
    except AssertionError:
        return False


def test_many_who_look_at_once_are_no_job(tmp_path: Path) -> None:
    doorbell.make(tmp_path)
    bell = doorbell.Doorbell(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        looks = [
            pool.submit(lambda: [doorbell.is_waited_at(tmp_path) for _ in range(5000)]) for _ in range(2)
        ]
        while not all(look.done() for look in looks):
            assert bell.wait([], 0.01) == (None, set())
    assert all(all(look.result()) for look in looks)
    bell.close()


def test_looking_whether_it_waits_costs_a_standby_nothing(gang: Make) -> None:
    job = gang(ASKS).warm()
    assert all(doorbell.is_waited_at(job.standby) for _ in range(20))
    used = _ticks(job)
    time.sleep(0.5)
    assert _ticks(job) - used < 0.1
    assert job.adopt()
    job.wait()
    assert job.log(0) == "imported True\n"


def test_without_memory_to_spare_a_standby_leaves(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    for available, short in ((90, True), (110, False)):
        meminfo.write_text(f"MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: {available} kB\n")
        assert standby.is_short(meminfo) is short
    assert not standby.is_short(tmp_path / "none")


def test_only_the_owner_of_the_pipes_can_hand_over_a_job(tmp_path: Path) -> None:
    """As root: the person waits, and another uid can neither ring nor answer."""
    if os.geteuid() != 0:
        pytest.skip("needs more than one uid")
    folder = Path("/var/tmp") / f"gearshift-test-door-{os.getpid()}"
    folder.mkdir(mode=0o750)
    try:
        doorbell.make(folder, 20001)
        os.chown(folder, 0, 20001)
        assert _as(20001, lambda: doorbell.Doorbell(folder).close()) == 0
        assert _as(20001, lambda: os.open(folder / doorbell.WAKE, os.O_WRONLY | os.O_NONBLOCK)) == 1
        for pipe, way in (
            (doorbell.WAKE, os.O_RDONLY),
            (doorbell.WAKE, os.O_WRONLY),
            (doorbell.TAKEN, os.O_WRONLY),
        ):
            assert _as(20002, lambda pipe=pipe, way=way: os.open(folder / pipe, way | os.O_NONBLOCK)) == 1
    finally:
        for name in (doorbell.WAKE, doorbell.TAKEN):
            (folder / name).unlink()
        folder.rmdir()


def _as(uid: int, act: Callable[[], Any]) -> int:
    """0 when this uid may do it, 1 when the kernel refuses it."""
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            act()
            os._exit(0)
        except PermissionError:
            os._exit(1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _ticks(job: Gang) -> float:
    """Seconds of processor time of all that waits."""
    fields = [
        (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split() for pid, _ in job.seen()
    ]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")
