"""What runs inside ranks, with real torch on gloo: joining, metrics, checkpoints, result; torchrun as launcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from gearshift import train
from gearshift.train import operators, results

Make = Callable[..., Any]

TRAINING = """
    import os, signal, torch
    import torch.distributed as dist
    from gearshift import train

    place = train.init()
    torch.manual_seed(0)
    weight = torch.zeros(3)
    start = 0
    if (found := train.load_checkpoint()) is not None:
        start, state = found
        weight = state["weight"]
    for step in range(start + 1, 5):
        gradient = torch.full((3,), float(place.rank + 1) * step)
        dist.all_reduce(gradient)
        weight += gradient
        train.log(step=step, loss=float(weight[0]))
        if step == 2:
            train.save_checkpoint({"weight": weight}, step)
        if step == 3 and place.attempt == 0 and place.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    train.result({"weight": weight})
"""


def test_two_ranks_train_lose_one_and_go_on_from_the_checkpoint_to_the_same_numbers(gang: Make) -> None:
    job = gang(TRAINING, nodes=2, max_restarts=1).run()
    assert job.status["state"] == "succeeded", (job.status, job.log(0), job.log(0, 1))
    assert job.status["checkpoint_step"] == 2
    losses = {(p["attempt"], p["step"]): p["loss"] for p in job.metrics if p["rank"] == 0 and "loss" in p}
    unbroken = {step: sum(3.0 * s for s in range(1, step + 1)) for step in range(1, 5)}
    assert {step: losses[1, step] for step in (3, 4)} == {3: unbroken[3], 4: unbroken[4]}
    assert {step: losses[0, step] for step in (1, 2)} == {1: unbroken[1], 2: unbroken[2]}
    back = results.read(job.order.out / results.RESULT_FILE)
    assert torch.equal(back["weight"], torch.full((3,), unbroken[4]))


def test_C25_the_same_code_runs_under_torchrun_and_its_failure_keeps_rank_and_code(gang: Make) -> None:
    job = gang(
        """
        import sys, torch
        import torch.distributed as dist
        from gearshift import train
        place = train.init()
        mine = torch.ones(1)
        dist.all_reduce(mine)
        train.log(step=1, loss=mine.item())
        print("sum", mine.item())
        if place.rank == 1:
            sys.exit(7)
        """,
        nodes=2,
        launch="torchrun",
    ).run()
    assert "sum 2.0" in job.log(0)
    assert "sum 2.0" in job.log(1)
    assert {(p["rank"], p["loss"]) for p in job.metrics} == {(0, 2.0), (1, 2.0)}
    failure = job.status["first_failure"]
    assert (failure["rank"], failure["node"], failure["exit_code"]) == (1, 1, 7)
    assert job.left() == []


def test_C25_deepspeed_joins_and_reduces_on_cpu_without_compiling_anything(gang: Make) -> None:
    operators.build(operators.folder())
    job = gang(
        """
        import deepspeed, torch
        import torch.distributed as dist
        deepspeed.init_distributed()
        rank = torch.tensor([float(dist.get_rank())])
        dist.all_reduce(rank)
        print("sum", rank.item())
        """,
        nodes=2,
        launch="deepspeed",
        extensions=str(operators.folder()),
    ).run()
    assert job.status["state"] == "succeeded", job.log(0)
    assert "sum 1.0" in job.log(1)


def test_accelerate_finds_its_ranks_and_trains_them_alike(gang: Make) -> None:
    job = gang(
        """
        import torch
        from accelerate import Accelerator
        accelerator = Accelerator()
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 1)
        model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
        for step in range(3):
            loss = model(torch.ones(4, 2) * (accelerator.process_index + 1)).pow(2).mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        weight = accelerator.gather(model.module.weight.detach())
        print(accelerator.num_processes, accelerator.device.type, bool(torch.equal(weight[0], weight[1])))
        """,
        nodes=2,
        launch="accelerate",
    ).run()
    assert job.status["state"] == "succeeded", job.log(0)
    assert job.log(0).splitlines()[-1] == job.log(1).splitlines()[-1] == "2 cpu True"


def test_outside_a_job_the_same_calls_do_nothing() -> None:
    train.log(step=1, loss=2.0)
    train.result({"a": 1})
    assert (train.rank(), train.world_size()) == (0, 1)
    assert train.chip.device() == torch.device("cpu")
    assert train.chip.backend() == "gloo"


def test_a_result_that_is_not_a_state_comes_back_too(tmp_path: Any) -> None:
    results.write({"loss": [1.0, 2.0], "state": {"w": torch.ones(2)}}, tmp_path / "result.zip")
    back = results.read(tmp_path / "result.zip")
    assert back["loss"] == [1.0, 2.0]
    assert torch.equal(back["state"]["w"], torch.ones(2))


def test_a_line_of_metrics_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GS_METRICS_FD", "1")
    with pytest.raises(ValueError, match="at most 4096"):
        train.log(step=1, text="x" * 5000)
