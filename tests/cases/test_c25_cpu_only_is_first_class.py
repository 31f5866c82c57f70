"""C25: without GPU and driver every panel says so in words, nothing logs errors, and the same code runs on CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from gearshift.kernel import Kernel
from gearshift.lab import environment
from gearshift.lab.chips import NONE, chips
from gearshift_testing import submitting
from gearshift_testing.driving import Driver
from gearshift_testing.evidence import trees_of
from gearshift_testing.running import Running

NAME = "plain"
LOOKS = 60
"""As often as a panel asks in five minutes."""
LAUNCHES = ("env", "torchrun", "deepspeed")

CELL = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo" if not torch.cuda.is_available() else "nccl")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
print("all-reduce of ranks:", int(total.item()), "of", dist.get_world_size())
dist.destroy_process_group()
"""

COUNTERS = {
    "nvmlDeviceGetMemoryInfo": {"memory_bytes", "memory_limit_bytes"},
    "nvmlDeviceGetUtilizationRates": {"percent"},
    "nvmlDeviceGetUUID": {"uuid"},
    "nvmlDeviceGetName": {"name"},
    "nvmlDeviceGetTemperature": {"celsius"},
}


class FailingNvml:
    """A driver library with one card that raises at one named call, and works otherwise."""

    ANSWERS: ClassVar[dict[str, Any]] = {
        "nvmlInit": None,
        "nvmlDeviceGetCount": 1,
        "nvmlDeviceGetHandleByIndex": "card",
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=1 << 30, total=16 << 30),
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=37),
        "nvmlDeviceGetUUID": "GPU-1",
        "nvmlDeviceGetName": b"A card",
        "nvmlDeviceGetTemperature": 41,
    }

    def __init__(self, fails_at: str) -> None:
        self._fails_at = fails_at

    def __getattr__(self, name: str) -> Any:
        def call(*_: object) -> Any:
            if name == self._fails_at:
                raise RuntimeError("Not Supported")
            return self.ANSWERS[name]

        return call


@pytest.fixture(scope="module")
def mei(running: Running) -> Iterator[Driver]:
    """A person with a workspace on a machine without chips."""
    driver = Driver(running, "mei-plain")
    driver.start(NAME)
    yield driver
    driver.stop(NAME)


@pytest.fixture(scope="module")
def jobs(mei: Driver) -> dict[str, str]:
    """The same cell, sent once for each way of launching; they run beside one another."""
    return {launch: submitting.submit(mei, CELL, nodes=2, launch=launch) for launch in LAUNCHES}


def test_c25_the_panel_says_in_words_that_there_is_no_gpu_and_shows_the_rest(mei: Driver) -> None:
    for look in range(LOOKS):
        shown = mei.server(NAME, "gearshift/metrics").json()
        assert shown["gpus"] is None
        assert (shown["reason"], shown["reason_zh"]) == NONE == ("No GPU on this machine", "这台机器没有 GPU")
        assert (shown["cpus"], shown["memory_limit_bytes"]) == (2.0, 2 << 30)
        assert 0 < shown["memory_bytes"] < 2 << 30
        assert look == 0 or shown["cpu_percent"] >= 0
    logged = log_of(mei)
    assert "gearshift" in logged
    assert "Traceback" not in logged


def test_c25_deepspeed_can_be_imported(mei: Driver) -> None:
    with closing(Kernel(mei.product.server(mei.user, NAME), mei.product.sign_in(mei.user))) as kernel:
        said = kernel.run("import deepspeed; print(deepspeed.get_accelerator().device_name())", timeout=120)
    assert said.text.splitlines()[-1] == "cpu"


@pytest.mark.parametrize("launch", LAUNCHES)
def test_c25_the_same_cell_runs_on_two_ranks_however_it_is_launched(
    mei: Driver, jobs: dict[str, str], launch: str
) -> None:
    job = submitting.ended(mei, jobs[launch], 120)
    assert (job["state"], job["reason"]) == ("succeeded", "succeeded"), job
    assert [rank["exit_code"] for rank in job["ranks"]] == [0, 0]
    for rank in (0, 1):
        assert "all-reduce of ranks: 1 of 2" in submitting.log_of(mei, job["id"], rank)


@pytest.mark.parametrize("counter", COUNTERS)
def test_c25_a_counter_that_a_card_lacks_leaves_the_others_shown(counter: str, tmp_path: Any) -> None:
    cards, reason = chips(environment.read({"GEARSHIFT_STATE_DIR": str(tmp_path)}), FailingNvml(counter))
    assert (reason, cards is not None) == (None, True)
    assert {name for name, value in cards[0].items() if value is None} == COUNTERS[counter]  # type: ignore[index]


@pytest.mark.parametrize("stage", ["nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"])
def test_c25_a_driver_that_does_not_answer_is_no_error(stage: str, tmp_path: Any) -> None:
    assert chips(environment.read({"GEARSHIFT_STATE_DIR": str(tmp_path)}), FailingNvml(stage)) == (None, NONE)


def log_of(driver: Driver) -> str:
    """What the workspace's server has written so far."""
    (tree,) = trees_of(driver, NAME)
    return (driver.product.home.logs / "workspaces" / f"{tree.name}.log").read_text()
