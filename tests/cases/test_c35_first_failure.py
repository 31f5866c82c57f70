"""C35: a job's state and exit code follow the first failing rank; node, rank, code or signal and last words are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from gearshift.kernel import Kernel, KernelError
from gearshift_testing import submitting
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running

NAME = "first-failure"
CELL = """%%gearshift --nodes 2 --procs 2 --machine cpu-small --wait --max-price 10 --max-cost 1
import os, signal, sys, time
rank = int(os.environ["RANK"])
"""


@pytest.fixture(scope="module")
def vera(running: Running) -> Iterator[Driver]:
    driver = Driver(running, "vera-failing")
    driver.start(NAME)
    yield driver
    driver.stop(NAME)


@pytest.fixture(scope="module")
def kernel(vera: Driver) -> Iterator[Kernel]:
    """A notebook with our magics and a token that may spend."""
    made = Kernel(vera.product.server(vera.user, NAME), vera.product.sign_in(vera.user))
    with closing(made):
        token = vera.product.sign_in(vera.user)
        made.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {token!r}", silent=True)
        made.run("%load_ext gearshift")
        yield made


def failed(vera: Driver, kernel: Kernel, code: str) -> tuple[dict[str, Any], KernelError]:
    """The job of a cell that raises, and what it raised."""
    with pytest.raises(KernelError) as said:
        kernel.run(CELL + code, 120)
    job = submitting.ended(vera, vera.get("jobs")[0]["id"])
    assert job["state"] == "failed"
    return job, said.value


def test_c35_the_rank_that_exits_first_is_named_with_its_code_and_its_last_lines(
    vera: Driver, kernel: Kernel
) -> None:
    job, said = failed(
        vera, kernel, "if rank == 3:\n    print('boom', flush=True)\n    sys.exit(7)\ntime.sleep(600)"
    )
    first = job["first_failure"]
    assert (first["node"], first["rank"], first["exit_code"], job["reason"]) == (1, 3, 7, "user_error")
    assert "boom" in first["lines"]
    assert said.name == "JobFailedError"
    assert said.value.splitlines()[0] == "user_error: Rank 3 on node 1 failed first, exit code 7"


def test_c35_of_exceptions_in_all_ranks_the_earliest_is_named(vera: Driver, kernel: Kernel) -> None:
    """Ranks of a job share its folder: the others fail once the first has told its error."""
    code = (
        "told = os.path.join(os.environ['GS_ATTEMPT_DIR'], 'rank-2.error.json')\n"
        "while rank != 2 and not os.path.exists(told):\n    time.sleep(0.01)\n"
        "raise ValueError(f'boom in rank {rank}')"
    )
    job, said = failed(vera, kernel, code)
    assert job["first_failure"]["message"] == "ValueError: boom in rank 2"
    assert any("raise ValueError(f'boom in rank {rank}')" in line for line in job["first_failure"]["lines"])
    assert "ValueError: boom in rank 2" in said.value


def test_c35_a_killed_rank_is_told_by_its_signal(vera: Driver, kernel: Kernel) -> None:
    job, said = failed(
        vera, kernel, "if rank == 2:\n    os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(600)"
    )
    first = job["first_failure"]
    assert (first["node"], first["rank"], first["signal"], first["exit_code"]) == (1, 2, 9, None)
    assert "signal 9" in said.value.splitlines()[0]


def test_c35_all_ranks_that_end_well_succeed(vera: Driver, kernel: Kernel) -> None:
    kernel.run(CELL + "print('well')", 120)
    job = submitting.ended(vera, vera.get("jobs")[0]["id"])
    assert (job["state"], job["reason"]) == ("succeeded", "succeeded")
    assert [rank["exit_code"] for rank in job["ranks"]] == [0, 0, 0, 0]
