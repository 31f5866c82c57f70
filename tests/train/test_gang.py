"""The supervisor with real processes: contract, first failure, restart, cancel, nothing left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from gearshift_testing.real_gangs import STUBBORN

Gang = Any

Make = Callable[..., Gang]


def up(ranks: int) -> Callable[[Gang], bool]:
    return lambda gang: all("up" in gang.log(rank) for rank in range(ranks))


def test_ranks_find_torchruns_contract_in_their_environment(gang: Make) -> None:
    job = gang(
        """
        import os, json
        names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK MASTER_ADDR MASTER_PORT GS_JOB GS_ATTEMPT"
        names += " GS_CKPT GS_METRICS_FD TORCHELASTIC_ERROR_FILE OMP_NUM_THREADS GLOO_SOCKET_IFNAME DS_ACCELERATOR"
        print(json.dumps([os.environ[name] for name in names.split()][:9]))
        """,
        nodes=2,
        procs=2,
    ).run()
    assert job.status["state"] == "succeeded", (job.status, job.log(0))
    assert f'["3", "1", "4", "2", "1", "127.0.0.1", "29500", "{job.order.job}", "0"]' in job.log(3)
    assert [rank["exit_code"] for rank in job.status["ranks"]] == [0, 0, 0, 0]


def test_metrics_of_every_rank_arrive_with_their_rank(gang: Make) -> None:
    job = gang(
        """
        from gearshift import train
        for step in range(100):
            train.log(step=step, loss=1 / (step + 1), bad=float("nan"))
        """,
        nodes=2,
    ).run()
    points = job.metrics
    assert sorted({(p["rank"], p["step"]) for p in points}) == [(r, s) for r in (0, 1) for s in range(100)]
    assert points[-1]["bad"] is None


def test_C35_the_first_failing_rank_decides(gang: Make) -> None:
    job = gang(
        """
        import os, sys, time
        if os.environ["RANK"] == "3":
            time.sleep(0.5)
            print("boom")
            sys.exit(7)
        time.sleep(600)
        """,
        nodes=2,
        procs=2,
    )
    assert job.run().process.returncode == 65
    failure = job.status["first_failure"]
    assert time.monotonic() - job.started < 60
    assert (failure["node"], failure["rank"], failure["exit_code"]) == (1, 3, 7)
    assert "boom" in failure["last_lines"]
    assert (job.status["state"], job.status["reason"], job.status["exit_code"]) == ("failed", "user_error", 7)
    assert job.left() == []


def test_C35_of_exceptions_in_all_ranks_the_earliest_is_named(gang: Make) -> None:
    job = gang(
        """
        import os, pathlib
        first = pathlib.Path(os.environ["GS_ATTEMPT_DIR"]) / "rank-1.error.json"
        def train():
            while os.environ["RANK"] != "1" and not first.exists():
                pass
            raise ValueError("boom in rank " + os.environ["RANK"])
        train()
        """,
        procs=3,
    ).run()
    failure = job.status["first_failure"]
    assert failure["message"] == "ValueError: boom in rank 1"
    assert failure["where"] == "In[1], line 7"
    assert "Cell In[1], line 7, in train" in failure["traceback"]
    assert 'raise ValueError("boom in rank "' in failure["traceback"]
    assert "gearshift/train" not in failure["traceback"]


def test_C35_a_killed_rank_is_reported_by_its_signal(gang: Make) -> None:
    job = gang(
        """
        import os, signal, time
        if os.environ["RANK"] == "2":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
        """,
        nodes=2,
        procs=2,
    )
    assert job.run().process.returncode == 75
    failure = job.status["first_failure"]
    assert (failure["rank"], failure["node"], failure["signal"], failure["exit_code"]) == (2, 1, 9, None)
    assert job.status["exit_code"] == 137


def test_a_new_attempt_resumes_from_the_newest_complete_checkpoint(gang: Make) -> None:
    job = gang(
        """
        import os, signal
        from pathlib import Path
        from gearshift.train.gang import checkpoints
        root, attempt = Path(os.environ["GS_CKPT"]), int(os.environ["GS_ATTEMPT"])
        print("resume", os.environ["GS_RESUME"].rpartition("/")[2])
        for step in (1, 2, 3):
            checkpoints.folder(root, step).mkdir(exist_ok=True)
            if step < 3:
                (checkpoints.folder(root, step) / checkpoints.COMPLETE).touch()
        if attempt == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        max_restarts=1,
    ).run()
    assert job.status["state"] == "succeeded", (job.status, job.log(0, 1))
    assert job.status["attempt"] == 1
    assert job.status["first_failure"] is None
    assert job.status["attempts"][0]["first_failure"]["signal"] == 9
    assert "resume \n" in job.log(0, 0)
    assert "resume step-00000002" in job.log(0, 1)


def test_a_fault_in_the_code_burns_no_restart(gang: Make) -> None:
    job = gang("raise RuntimeError('a fault')", max_restarts=5).run()
    assert job.status["attempt"] == 0
    assert job.status["reason"] == "user_error"


def test_the_deadline_ends_the_job(gang: Make) -> None:
    job = gang("import time; time.sleep(60)", deadline_seconds=0.5)
    assert job.run().process.returncode == 124
    assert (job.status["state"], job.status["reason"]) == ("failed", "deadline")


def test_a_polite_rank_gets_its_grace_to_save(gang: Make) -> None:
    job = gang(
        """
        import signal, sys, time
        def save(number, frame):
            time.sleep(0.3)
            print("saved", flush=True)
            sys.exit(0)
        signal.signal(signal.SIGTERM, save)
        print("up", flush=True)
        time.sleep(60)
        """,
        grace_seconds=10,
    ).start()
    job.until(up(1))
    job.process.terminate()
    assert job.wait() == 143
    assert "saved" in job.log(0)
    assert (job.status["state"], job.status["reason"]) == ("cancelled", "cancelled")


@pytest.mark.parametrize("private_network", [True, False])
def test_cancel_leaves_none_of_eight_stubborn_processes(gang: Make, private_network: bool) -> None:
    job = gang(STUBBORN, nodes=2, grace_seconds=0.3, private_network=private_network).start()
    job.until(up(2))
    job.until(lambda job: len(job.left()) == 8)
    job.process.terminate()
    job.wait()
    assert job.left() == []
    assert job.status["state"] == "cancelled"


def test_a_mark_of_control_makes_a_terminated_rank_a_cancelled_job(gang: Make) -> None:
    job = gang("import time; print('up', flush=True); time.sleep(60)", nodes=2).start()
    job.until(up(2))
    job.order.cancel_mark.touch()
    assert job.wait() == 143
    assert job.status["first_failure"] is None


def test_killing_the_supervisor_leaves_nothing(gang: Make) -> None:
    job = gang(STUBBORN, nodes=2).start()
    job.until(up(2))
    job.until(lambda job: len(job.left()) == 8)
    job.process.kill()
    job.wait()
    job.nothing_left()


def test_a_python_that_does_not_exist_is_a_failed_start(gang: Make) -> None:
    job = gang("pass", nodes=2)
    order = job.order.to_json().replace(job.order.python, "/no/python")
    (job.order.out.parent / "job.json").write_text(order)
    assert job.run().process.returncode == 70
    assert (job.status["state"], job.status["reason"]) == ("failed", "start_failed")
    assert "/no/python" in job.status["note"]


def test_a_cell_that_reads_a_missing_name_says_which_cell_and_line(gang: Make) -> None:
    job = gang("x = 1\ny = undefined_name\n").run()
    assert "Cell In[1], line 2" in job.log(0)
    assert "NameError: name 'undefined_name' is not defined" in job.log(0)
    assert os.environ.get("RANK") is None


def test_ranks_of_one_job_do_not_see_the_ports_of_the_box(gang: Make) -> None:
    job = gang(
        """
        import socket
        with socket.socket() as own:
            own.bind(("127.0.0.2", 29500))
        print(open("/proc/net/tcp").read().count("\\n"))
        """
    ).run()
    assert job.log(0).strip() == "1"


def test_signals_are_told_by_name(gang: Make) -> None:
    job = gang("import os, signal; os.kill(os.getpid(), signal.SIGABRT)").run()
    assert job.status["first_failure"]["message"] == f"killed by signal {int(signal.SIGABRT)} (SIGABRT)"


def test_a_rank_over_its_nodes_memory_ends_as_out_of_memory(gang: Make) -> None:
    job = gang(
        "held = bytearray(300_000_000)\nmore = bytearray(300_000_000)", memory_bytes=512 * 1024**2
    ).run()
    assert job.status["reason"] == "oom"
    assert job.status["first_failure"]["where"] == "In[1], line 2"
