"""Tensors on a chip: staged to the host, placed again on the same chip, kept on the CPU where there is none.

On a stand-in chip everywhere, and on a real one where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gearshift_testing
import pytest
import torch
from gearshift_testing import stand_in_chip
from gearshift_testing.ipykernels import Kernel
from gearshift_testing.moved import load, report, save

SETUP = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).to(chip)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, foreach=False)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
scaler = torch.amp.GradScaler(chip.partition(':')[0], init_scale=1024.0)
x, y = torch.randn(16, 4).to(chip), torch.randn(16, 1).to(chip)
losses = []
def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    losses.append(loss.item())
step()
whole = torch.zeros(4, 4).to(chip)
row, turned = whole[1], whole.t()
half = torch.ones(3, dtype=torch.bfloat16).to(chip)
leaf = torch.ones(3, device=chip, requires_grad=True)
(leaf * 2).sum().backward()
wide = torch.arange(18 << 20, dtype=torch.float32).to(chip)
both = {'here': torch.ones(2), 'there': torch.ones(2).to(chip)}
nothing = torch.empty(0, device=chip)
weights = net[0].weight.tolist()
"""
LINKED = (
    "{id(p) for g in optimizer.param_groups for p in g['params']} == {id(p) for p in net.parameters()}"
    " and set(optimizer.state) == set(net.parameters()) and scheduler.optimizer is optimizer"
)
TWO_MORE = "step(); step()"
COURSE = "[*losses, scaler.get_scale()]"
DEVICES = (
    "sorted({str(t.device) for t in [*net.parameters(), x, row, half, leaf, leaf.grad, wide, both['there'],"
    " *(s['exp_avg'] for s in optimizer.state.values())]})"
)


@dataclass
class Chips:
    """One kernel with the chip, one without, and one with it again; what was said on the way."""

    chip: str
    course: list[float]
    without: Kernel
    again: Kernel
    plan: dict[str, Any]
    straight: dict[str, Any]
    left: dict[str, Any]
    left_plan: dict[str, Any]
    back_path: Path

    def said(self, report: dict[str, Any], name: str) -> list[str]:
        found = next(v for v in report["variables"] if v["name"] == name)
        return [note["code"] for note in found["notes"]]


@pytest.fixture(scope="module", params=["standin", "cuda"])
def chips(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chips]:
    folder = tmp_path_factory.mktemp("chips")
    install = "pass"
    if request.param == "standin":
        support = str(Path(gearshift_testing.__path__[0]).parent)
        library = str(stand_in_chip.build(folder))
        install = (
            f"import sys; sys.path.insert(0, {support!r})\n"
            f"from gearshift_testing import stand_in_chip; stand_in_chip.install({library!r})"
        )
    elif not torch.cuda.is_available():
        pytest.skip("this machine has no CUDA chip")
    path, back = folder / "1.gsk", folder / "2.gsk"
    with Kernel() as old, Kernel(CUDA_VISIBLE_DEVICES="") as without, Kernel() as again:
        old.run(install)
        old.run(f"chip = '{request.param}:0'")
        old.run(SETUP)
        plan = report(old, "plan(globals())")
        save(old, path)
        old.run(TWO_MORE)
        left = load(without, path)
        left_plan = report(without, "plan(globals())")
        save(without, back)
        again.run(install)
        straight = load(again, path)
        course = old.value(COURSE)
        yield Chips(f"{request.param}:0", course, without, again, plan, straight, left, left_plan, back)


def test_the_plan_says_where_it_lies_and_how_much_it_is(chips: Chips) -> None:
    planned = {v["name"]: v for v in chips.plan["variables"]}
    assert planned["wide"]["device"] == planned["wide"]["where"] == chips.chip
    assert planned["wide"]["bytes"] >= 72 << 20
    assert planned["both"]["device"] == chips.chip
    assert planned["both"]["where"] == f"cpu, {chips.chip}"
    assert planned["row"]["bytes"] < 1000, "its memory is counted with the tensor it is a part of"
    assert planned["weights"]["device"] is None


def test_everything_is_on_the_same_chip_again_with_its_links(chips: Chips) -> None:
    assert {v["name"] for v in chips.straight["variables"] if v["verdict"] != "copy"} == set()
    assert chips.again.value(DEVICES) == [chips.chip]
    assert chips.again.value(LINKED)
    chips.again.run("whole[1, 2] = 8\nwhole[3, 0] = 5")
    assert chips.again.value("(row.tolist(), turned[0, 3].item())") == ([0, 0, 8, 0], 5)
    assert chips.again.value("half.dtype is torch.bfloat16 and leaf.grad.tolist()") == [2, 2, 2]
    assert chips.again.value("wide.cpu().equal(torch.arange(18 << 20, dtype=torch.float32))")
    assert chips.again.value("(str(both['here'].device), nothing.shape[0])") == ("cpu", 0)


def test_training_goes_on_bit_for_bit_on_the_chip(chips: Chips) -> None:
    chips.again.run(TWO_MORE)
    assert chips.again.value(COURSE) == chips.course


def test_without_the_chip_it_is_left_on_the_cpu_and_says_so(chips: Chips) -> None:
    assert {v["name"] for v in chips.left["variables"] if v["verdict"] != "copy"} == set()
    for name in ("net", "x", "leaf", "both"):
        assert chips.said(chips.left, name) == ["on_cpu"]
    why = next(v["why"] for v in chips.left["variables"] if v["name"] == "net")
    assert why == f"left on the CPU: this machine has no {chips.chip}"
    assert chips.without.value(DEVICES) == ["cpu"]
    assert chips.without.value(LINKED)
    assert chips.without.value("net[0].weight.tolist() == weights and net(x).shape[0]") == 16
    chips.without.run("whole[1, 1] = 3")
    assert chips.without.value("row.tolist()") == [0, 3, 0, 0]


def test_on_the_way_back_it_goes_to_the_chip_again(chips: Chips) -> None:
    assert chips.said(chips.left_plan, "net") == ["goes_home"]
    loaded = load(chips.again, chips.back_path)
    assert chips.said(loaded, "net") == ["goes_home"]
    assert chips.again.value(DEVICES) == [chips.chip]
    assert chips.again.value("net[0].weight.tolist() == weights and str(both['here'].device)") == "cpu"
    chips.again.run(TWO_MORE)
    assert chips.again.value(COURSE) == chips.course


def test_the_dice_of_a_chip_wait_for_a_machine_that_has_it(chips: Chips) -> None:
    kind = chips.chip.partition(":")[0]
    states = "__import__('gearshift.state.chips').state.chips.random_states()"
    assert chips.without.value(f"{states}['{kind}']") == chips.again.value(f"{states}['{kind}']")
