"""A training loop that is switched twice gives the same losses as one that is not, bit for bit."""

from __future__ import annotations

from pathlib import Path

from gearshift_testing.ipykernels import Kernel
from gearshift_testing.moved import load, save

SETUP = """
import torch, random, numpy as np
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
losses = []
def epoch():
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x + random.random() * 0.01), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
"""


def test_losses_are_the_same_bit_for_bit_after_two_switches(tmp_path: Path) -> None:
    with Kernel() as unswitched:
        unswitched.run(SETUP)
        for _ in range(3):
            unswitched.run("epoch()")
        expected = unswitched.value("losses")
    first, second = tmp_path / "1.gsk", tmp_path / "2.gsk"
    with Kernel() as one:
        one.run(SETUP)
        one.run("epoch()")
        save(one, first)
    with Kernel() as two:
        assert all(v["verdict"] == "copy" for v in load(two, first)["variables"])
        two.run("epoch()")
        save(two, second)
    with Kernel() as three:
        load(three, second)
        three.run("epoch()")
        assert three.value("losses") == expected
