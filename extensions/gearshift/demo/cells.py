"""Knows the code the demo runs in kernels and as a job: a small network on the data set `digits`, and ZeRO-2 on it.

The same cells run switched (half an epoch here, half there) and unswitched; at one thread the losses are equal bit by bit.
"""

from __future__ import annotations

DATASET = "digits"

PREPARE = f"""
import csv, pathlib, torch
torch.set_num_threads(1)
torch.manual_seed(7)
folder = pathlib.Path.home() / "datasets" / "{DATASET}"
with next(folder.glob("*.csv")).open() as source:
    rows = [[float(value) for value in row] for row in list(csv.reader(source))[1:]]
pixels = torch.tensor([row[:-1] for row in rows]) / 16.0
labels = torch.tensor([int(row[-1]) for row in rows])
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
order = torch.randperm(len(labels))
losses, batch = [], 32
def train(first, last):
    for step in range(first, last):
        chosen = order[step * batch:(step + 1) * batch]
        loss = torch.nn.functional.cross_entropy(net(pixels[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
steps = len(labels) // batch
half = steps // 2
print(len(labels), "samples,", steps, "steps an epoch")
"""

FIRST_HALF = "train(0, half); print(f'loss {losses[0]:.4f} -> {losses[-1]:.4f}')"
SECOND_HALF = "train(half, steps); print(f'loss {losses[half]:.4f} -> {losses[-1]:.4f}')"
LOSSES = "import json; print(json.dumps([value.hex() for value in losses]))"

JOB = """
import csv, os, pathlib, torch, deepspeed, gearshift.train as gt
torch.set_num_threads(1)
torch.manual_seed(7)
deepspeed.init_distributed()
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
folder = pathlib.Path.home() / "datasets" / "digits"
with next(folder.glob("*.csv")).open() as source:
    rows = [[float(value) for value in row] for row in list(csv.reader(source))[1:]]
rows = rows[rank::world]
pixels = torch.tensor([row[:-1] for row in rows]) / 16.0
labels = torch.tensor([int(row[-1]) for row in rows])
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
engine, *_ = deepspeed.initialize(
    model=net,
    optimizer=torch.optim.AdamW(net.parameters(), lr=1e-3),
    config={"train_micro_batch_size_per_gpu": 32, "zero_optimization": {"stage": 2}},
)
for step in range(len(labels) // 32):
    chosen = slice(step * 32, (step + 1) * 32)
    loss = torch.nn.functional.cross_entropy(engine(pixels[chosen]), labels[chosen])
    engine.backward(loss)
    engine.step()
    gt.log(step=step, loss=loss.item())
if rank == 0:
    print(f"ZeRO-2 on {world} nodes: loss {loss.item():.4f} after {step + 1} steps")
"""
