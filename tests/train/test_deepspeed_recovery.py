"""A DeepSpeed engine goes on from its checkpoint on the same and on another number of ranks, on the same curve.

The peer is the same training in one go in plain PyTorch. Tolerance: 1e-4 relative, in float32 (sums in another order).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
import torch
from gearshift.train import operators

Make = Callable[..., Any]
TOLERANCE = 1e-4
BFLOAT16_TOLERANCE = 1e-2
FIRST, ALL = 4, 8

MODEL = """
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def rows_of(step):
        return torch.randn(8, 4, generator=torch.Generator().manual_seed(step))

    def error(model, rows):
        return (model(rows) - rows.sum(1, keepdim=True)).square().mean()
"""
TRAINING = (
    """
    import os, deepspeed, torch
    import torch.distributed as dist
    from gearshift import train

    deepspeed.init_distributed()
    place = train.here()
"""
    + MODEL
    + """
    config = {
        "train_batch_size": 8,
        "gradient_clipping": 0.0,                 # DeepSpeed clips at 1.0 unless told; the peer does not clip
        "zero_optimization": {"stage": int(os.environ["STAGE"]), "stage3_param_persistence_threshold": 0},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "weight_decay": 0.0, "torch_adam": True}},
        "zero_allow_untested_optimizer": True,
        "bf16": {"enabled": os.environ["KIND"] == "bfloat16"},
    }
    if os.environ["KIND"] == "offload":
        config["zero_optimization"]["offload_optimizer"] = {"device": "cpu"}
        config["zero_force_ds_cpu_optimizer"] = False  # else DeepSpeed compiles its own
    engine, *_ = deepspeed.initialize(model=model, config=config)
    begun = train.load_deepspeed(engine) or 0
    for step in range(begun + 1, int(os.environ["STEPS"]) + 1):
        loss = error(engine, rows_of(step).to(engine.module[0].weight.dtype)[place.rank :: place.world_size])
        engine.backward(loss)
        engine.step()
        seen = loss.detach().clone()
        if place.distributed:
            dist.all_reduce(seen)
        train.log(step=step, loss=seen / place.world_size)
        if step == 4:
            train.save_deepspeed(engine, step)
"""
)


@pytest.fixture(scope="module")
def unbroken() -> list[float]:
    """Plain PyTorch, in one process, from the first step to the last."""
    names: dict[str, Any] = {"torch": torch}
    exec(textwrap.dedent(MODEL), names)
    optimizer = torch.optim.AdamW(names["model"].parameters(), lr=1e-2, weight_decay=0.0)
    losses = []
    for step in range(1, ALL + 1):
        loss = names["error"](names["model"], names["rows_of"](step))
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def trained(gang: Make, stage: int, nodes: int, steps: int, before: Any = None, kind: str = "") -> Any:
    operators.build(operators.folder())
    env = {"STAGE": str(stage), "STEPS": str(steps), "KIND": kind}
    root = before.order.root if before else ""
    extensions = str(operators.folder())
    job = gang(
        TRAINING, nodes=nodes, launch="deepspeed", extensions=extensions, resume_from=root, env=env
    ).start()
    job.wait(180)
    return job


def curve(job: Any) -> dict[int, float]:
    return {point["step"]: point["loss"] for point in job.metrics if point["rank"] == 0 and "loss" in point}


@pytest.mark.parametrize(
    ("stage", "before", "after"), [(1, 2, 1), (2, 2, 1), (3, 2, 1), (3, 1, 2), (2, 1, 2), (3, 2, 2)]
)
def test_the_curve_is_that_of_an_unbroken_run_on_another_number_of_ranks(
    gang: Make, unbroken: list[float], stage: int, before: int, after: int
) -> None:
    first = trained(gang, stage, before, FIRST)
    assert first.status["state"] == "succeeded", first.log(0)
    then = trained(gang, stage, after, ALL, first)
    assert then.status["state"] == "succeeded", then.log(0)
    assert sorted(curve(then)) == list(range(FIRST + 1, ALL + 1))
    found = curve(first) | curve(then)
    assert [found[step] for step in range(1, ALL + 1)] == pytest.approx(unbroken, rel=TOLERANCE)


@pytest.mark.parametrize(("kind", "tolerance"), [("bfloat16", BFLOAT16_TOLERANCE), ("offload", TOLERANCE)])
def test_with_bfloat16_or_offload_too_another_number_of_ranks_goes_on_the_same_curve(
    gang: Make, kind: str, tolerance: float
) -> None:
    """The peer is the same engine in one go: plain PyTorch has no bfloat16 weights beside float32 ones."""
    whole = trained(gang, 2, 2, ALL, kind=kind)
    first = trained(gang, 2, 2, FIRST, kind=kind)
    then = trained(gang, 2, 1, ALL, first, kind=kind)
    assert then.status["state"] == "succeeded", then.log(0)
    assert sorted(curve(then)) == list(range(FIRST + 1, ALL + 1))
    found = curve(first) | curve(then)
    assert [found[step] for step in sorted(found)] == pytest.approx(
        [curve(whole)[step] for step in sorted(found)], rel=tolerance
    )


def test_another_stage_on_another_number_of_ranks_is_refused_in_words(gang: Make) -> None:
    first = trained(gang, 3, 2, FIRST)
    then = trained(gang, 1, 1, ALL, first)
    assert then.status["reason"] == "user_error"
    assert "saved with ZeRO stage 3 and this engine has stage 1" in then.status["first_failure"]["message"]
