"""A training loop that is switched twice, the second time in mid-epoch, gives the same losses as one that is not, bit
for bit: dropout, random numbers of three libraries, the order of the data, the scale of the gradients and all."""

from __future__ import annotations

from pathlib import Path

from gearshift_testing.ipykernels import Kernel
from gearshift_testing.moved import load, save

SETUP = """
import torch, random, numpy as np
from torchdata.stateful_dataloader import StatefulDataLoader
torch.manual_seed(0); random.seed(0); np.random.seed(0)
data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.ReLU())
        self.head = torch.nn.Linear(16, 1)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
stream = StatefulDataLoader(data, batch_size=8, shuffle=True)
losses = []
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x + random.random() * 0.01), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
def epoch():
    for x, y in loader:
        step(x, y)
    scheduler.step()
def some(count):
    for _ in range(count):
        step(*next(batches))
"""
BEGIN = "batches = iter(stream)"
COURSE = "[*losses, scaler.get_scale()]"


def test_losses_are_the_same_bit_for_bit_after_two_switches(tmp_path: Path) -> None:
    first, second = tmp_path / "1.gsk", tmp_path / "2.gsk"
    with Kernel() as one, Kernel() as two, Kernel() as three:
        one.run(SETUP)
        one.run("epoch()")
        save(one, first)
        for cell in ("epoch()", BEGIN, "some(3)", "some(5)", "epoch()"):
            one.run(cell)
        assert all(v["verdict"] == "copy" for v in load(two, first)["variables"])
        assert not two.value("'torch._inductor' in __import__('sys').modules"), "a load imports no compiler"
        for cell in ("epoch()", BEGIN, "some(3)"):
            two.run(cell)
        save(two, second)
        loaded = load(three, second, "rerun=['batches']")
        assert [(v["name"], v["outcome"]) for v in loaded["variables"] if v["verdict"] != "copy"] == [
            ("batches", "rebuilt")
        ]
        for cell in ("some(5)", "epoch()"):
            three.run(cell)
        assert three.value(COURSE) == one.value(COURSE)
        assert three.value("len(losses)") == 4 + 4 + 8 + 4
