"""What a lost node, a hung rank and a notice leave of a training run, with real torch on gloo between two networks."""

from __future__ import annotations

import os
import signal
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import torch

Make = Callable[..., Any]

MODEL = """
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    momentum = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}

    def loss_of(rows):
        model.zero_grad()
        loss = (model(rows) - rows.sum(1, keepdim=True)).square().mean()
        loss.backward()
        return loss.detach()

    def rows_of(step):
        return torch.randn(8, 4, dtype=torch.double, generator=torch.Generator().manual_seed(step))

    def learn():
        with torch.no_grad():
            for name, weight in model.named_parameters():
                momentum[name].mul_(0.9).add_(weight.grad)
                weight -= 0.02 * momentum[name]
"""
TRAINING = (
    """
    import os, time, torch
    import torch.distributed as dist
    from gearshift import train

    place = train.init()
"""
    + MODEL
    + """
    state = {"model": model.state_dict(), "momentum": momentum}
    begun = train.load_sharded(state) or 0
    for step in range(begun + 1, int(os.environ["STEPS"]) + 1):
        loss = loss_of(rows_of(step)[place.rank :: place.world_size])
        for value in [loss] + [weight.grad for weight in model.parameters()]:
            if place.distributed:
                dist.all_reduce(value)
                value /= place.world_size
        learn()
        train.log(step=step, loss=loss)
        if step % 2 == 0:
            train.save_sharded(state, step)
        while step == 5 and place.attempt == 0 and place.distributed:
            time.sleep(0.02)
"""
)


def unbroken(steps: int) -> list[float]:
    """The same training in one go, in one process."""
    names: dict[str, Any] = {"torch": torch}
    exec(textwrap.dedent(MODEL), names)
    losses = []
    for step in range(1, steps + 1):
        losses.append(float(names["loss_of"](names["rows_of"](step))))
        names["learn"]()
    return losses


def curve(job: Any) -> dict[int, float]:
    """Of rank 0; what was done again counts as it was done last."""
    points = [point for point in job.metrics if point["rank"] == 0 and "loss" in point]
    return {point["step"]: point["loss"] for point in sorted(points, key=lambda point: point["attempt"])}


def test_after_a_lost_node_the_curve_is_that_of_an_unbroken_run_and_on_fewer_ranks_too(gang: Make) -> None:
    job = gang(TRAINING, nodes=2, node_networks=True, max_interruptions=1, env={"STEPS": "8"}).start()
    job.until(lambda job: [p for p in job.metrics_so_far if p["step"] == 5])
    os.kill(job.keeper(1), signal.SIGKILL)
    assert job.wait(120) == 0, (job.status, job.log(0), job.log(0, 1))
    assert job.status["attempts"][0]["reason"] == "node_lost"
    assert min(p["step"] for p in job.metrics if p["attempt"] == 1) == 5
    alone = gang(TRAINING, resume_from=job.order.root, env={"STEPS": "10"}).run()
    assert alone.status["state"] == "succeeded", alone.log(0)
    found = curve(job) | curve(alone)
    assert sorted(curve(alone)) == [9, 10]
    assert [found[step] for step in range(1, 11)] == pytest.approx(unbroken(10), rel=1e-9)


def test_a_rank_that_hangs_is_found_by_those_who_wait_for_it_and_tells_where_it_stands(gang: Make) -> None:
    """The code names no timeout: it is the job's that holds, not torch's 30 minutes."""
    job = gang(
        """
        import os, pathlib, time, torch, torch.distributed as dist
        up = pathlib.Path(os.environ["GS_ATTEMPT_DIR"])
        (up / f"up-{os.environ['RANK']}").touch()
        while len(list(up.glob("up-*"))) < 2:        # the short timeout is for what comes, not for slow imports
            time.sleep(0.02)
        dist.init_process_group("gloo")
        def stuck():
            while True:
                time.sleep(0.02)
        if dist.get_rank() == 1:
            stuck()
        dist.all_reduce(torch.ones(1))
        """,
        nodes=2,
        group_timeout_seconds=4.0,
    ).run()
    failure = job.status["first_failure"]
    assert (job.status["state"], job.status["reason"]) == ("failed", "no_answer"), (job.status, job.log(0))
    assert (failure["rank"], failure["node"]) == (1, 1)
    assert failure["message"].startswith("rank 1 hangs: the others waited for it")
    assert any("in stuck" in line for line in failure["last_lines"]), failure["last_lines"]


def test_at_a_notice_all_ranks_save_the_same_step_and_leave(gang: Make) -> None:
    job = gang(
        """
        import sys, time
        from gearshift import train
        place = train.init()
        step = 0
        while not train.interrupted():
            step += 1
            if step == 3:
                print("up", flush=True)
            time.sleep(0.01 * place.rank)
        train.save_checkpoint({"step": step}, step)
        print("saved", step, flush=True)
        """,
        nodes=2,
        grace_seconds=60,
    ).start()
    job.until(lambda job: "up" in job.log(0) and "up" in job.log(1))
    job.order.notice_mark.touch()
    job.process.terminate()
    assert job.wait() == 75
    assert job.status["reason"] == "interrupted"
    saved = job.status["checkpoint_step"]
    assert job.log(0).splitlines()[-1] == job.log(1).splitlines()[-1] == f"saved {saved}"
