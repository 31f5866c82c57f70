"""The supervisor's small judgements: what an ending means, what a control group tells, how a folder is read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gearshift.model.job import EndReason
from gearshift.train import operators
from gearshift.train.gang import checkpoints, memory_limit
from gearshift.train.gang.endings import EXIT_CLASS, Ending, Reason, of_failure
from gearshift.train.gang.failure import Failure, blamed_by_agent, first
from gearshift.train.gang.order import NodePlace, Order


def failure(**fields: Any) -> Failure:
    defaults = {"rank": 0, "node": 0, "exit_code": 1, "signal": None, "message": "", "at_ns": 0}
    return Failure(**(defaults | fields))


def test_the_supervisors_reasons_are_words_of_the_model() -> None:
    for reason in Reason:
        assert EndReason(reason).state == Ending(reason).state
        assert reason in EXIT_CLASS


@pytest.mark.parametrize(
    ("found", "killed", "reason", "exit_code", "retry"),
    [
        (failure(exit_code=7), False, Reason.USER_ERROR, 7, False),
        (failure(exit_code=75), False, Reason.USER_ERROR, 75, True),
        (failure(exit_code=None, signal=11), False, Reason.SIGNAL, 139, True),
        (failure(exit_code=None, signal=9), False, Reason.SIGNAL, 137, True),
        (failure(exit_code=None, signal=9), True, Reason.OOM, 137, False),
        (failure(type="MemoryError"), False, Reason.OOM, 1, False),
        (failure(type="OutOfMemoryError"), False, Reason.OOM, 1, False),
    ],
)
def test_faults_of_the_code_fail_fast_and_killed_ranks_may_run_again(
    found: Failure, killed: bool, reason: Reason, exit_code: int, retry: bool
) -> None:
    ending = of_failure(found, killed_by_limit=killed)
    assert (ending.reason, ending.exit_code, ending.retry) == (reason, exit_code, retry)


def test_the_earliest_failure_is_the_first() -> None:
    assert first([]) is None
    found = first([failure(rank=0, at_ns=30), failure(rank=2, at_ns=10), failure(rank=1, at_ns=20)])
    assert found is not None
    assert found.rank == 2


@pytest.mark.parametrize(
    ("other", "blamed"),
    [
        ({"exit_code": None, "signal": 9}, 1),
        ({"exit_code": None, "signal": 11}, 1),
        ({"exit_code": 7}, 1),
        ({"exit_code": None, "signal": 6}, 0),
        ({"exit_code": 1, "recorded": True}, 0),
    ],
)
def test_a_rank_that_ended_without_a_word_came_before_one_that_could_tell(
    other: dict[str, Any], blamed: int
) -> None:
    told = failure(rank=0, at_ns=10, recorded=True, message="Connection closed by peer")
    found = first([told, failure(rank=1, at_ns=20, **other)])
    assert found is not None
    assert found.rank == blamed


def test_torchruns_report_names_rank_and_code(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.write_text(
        "Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-30_21:00:00\n  host      : box\n"
        "  rank      : 3 (local_rank: 1)\n  exitcode  : -9 (pid: 4711)\n  error_file: <N/A>\n"
    )
    assert blamed_by_agent(log) == (3, -9)
    assert blamed_by_agent(tmp_path / "none.log") is None


def test_kills_by_the_memory_limit_are_read_from_either_kind_of_control_group(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("4:cpu,memory:/job\n0::/\n")
    (tmp_path / "memory" / "job").mkdir(parents=True)
    (tmp_path / "memory" / "job" / "memory.oom_control").write_text("under_oom 0\noom_kill 2\n")
    assert memory_limit.kills(tmp_path, own) == 2
    own.write_text("0::/job\n")
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "memory.events").write_text("low 0\noom 1\noom_kill 3\n")
    assert memory_limit.kills(tmp_path, own) == 3
    own.write_text("0::/elsewhere\n")
    assert memory_limit.kills(tmp_path, own) is None


def test_a_torn_checkpoint_is_not_there(tmp_path: Path) -> None:
    for step in (5, 20, 100):
        checkpoints.folder(tmp_path, step).mkdir()
    for step in (5, 20):
        (checkpoints.folder(tmp_path, step) / checkpoints.COMPLETE).touch()
    assert checkpoints.newest(tmp_path) == (20, checkpoints.folder(tmp_path, 20))
    assert checkpoints.newest(tmp_path / "none") is None


def test_an_order_reads_back_as_it_was_written() -> None:
    order = Order(
        "job-1", "/jobs/job-1", "/python", (NodePlace("127.0.0.1", ("d0",), "GPU-1"),), 2, argv=("a", "b c")
    )
    assert Order.from_json(order.to_json()) == order


def test_the_operator_of_another_python_or_cpu_lies_elsewhere(tmp_path: Path) -> None:
    assert not operators.ready(tmp_path)
    assert operators.folder() == operators.folder(fallback=tmp_path)
    (tmp_path / operators.READY).touch()
    assert operators.ready(tmp_path)
    operators.build(tmp_path)
    assert operators.missing_tools() == []


def test_without_namespaces_a_subreaper_leaves_none_of_eight_either(gang: Callable[..., Any]) -> None:
    job = gang(
        """
        import os, signal, subprocess, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "600"])
        if os.fork() == 0:
            time.sleep(600)
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(600)
        print("up", flush=True)
        time.sleep(600)
        """,
        nodes=2,
        grace_seconds=0.2,
    )
    code = (
        "import sys; from pathlib import Path; from gearshift.train.gang import enclosure, order, supervisor;"
        "read = order.Order.read(Path(sys.argv[1]));"
        "sys.exit(enclosure.run_as_subreaper(lambda inside: supervisor.supervise(read, inside, supervisor.listen())))"
    )
    job.process = subprocess.Popen([sys.executable, "-P", "-c", code, job.order.root])
    job.until(lambda job: "up" in job.log(0) and "up" in job.log(1))
    job.until(lambda job: len(job.left()) == 8)
    job.process.terminate()
    assert job.process.wait(60) == 143
    job.nothing_left()
    assert job.status["state"] == "cancelled"
