"""Row `job_throughput`: tokens/s of a small transformer, 2 ranks, as a job and bare; and what a second rank adds.

The best step counts: other work on the machine can only make a step slower.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from gearshift.kernel import Kernel

from benchmarks.measure import Figures, alternate, report
from benchmarks.ours import Ours

RUNS, GOAL, SCALING = 5, 0.99, 1.4
SCRIPT = """
import os, time, torch
import torch.distributed as dist
from torch import nn
torch.set_num_threads(1)
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
WIDTH, HEADS, LAYERS, WORDS, LENGTH, ROWS, STEPS = 128, 4, 4, 256, 128, 4, 30

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False), nn.Linear(WIDTH, WORDS)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.head(self.layers(self.words(ids) + self.places.weight[: ids.shape[1]], mask=mask, is_causal=True))

torch.manual_seed(0)
model = Reader()
if world > 1:
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters())
best = 0.0
for step in range(STEPS):
    ids = torch.randint(WORDS, (ROWS, LENGTH + 1))
    began = time.perf_counter()
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    best = max(best, world * ROWS * LENGTH / (time.perf_counter() - began))
    try:
        from gearshift import train
        train.log(step=step, loss=loss)
    except ImportError:
        pass
if rank == 0:
    print("tokens/s", best, flush=True)
if world > 1:
    dist.destroy_process_group()
"""
LINE = "%%gearshift --machine cpu-small --procs {ranks} --wait --max-price 100 --max-cost 100"


def main() -> None:
    with closing(Ours()) as ours, tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(SCRIPT)
        kernel = Kernel(ours.start("mei"), ours.tokens["mei"])
        kernel.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {ours.tokens['mei']!r}", silent=True)
        kernel.run("%load_ext gearshift", silent=True)
        two = alternate(lambda: as_job(kernel, 2), lambda: bare(script, 2), RUNS)
        one = alternate(lambda: as_job(kernel, 1), lambda: bare(script, 1), RUNS)
    best = [[max(values)] for values in (*two, *one)]
    scaling = best[0][0] / best[2][0]
    print(f"1 rank: ours {best[2][0]:.0f}, bare {best[3][0]:.0f} tokens/s")
    print(f"1 -> 2 ranks: {scaling:.2f} x (goal >= {SCALING:.2f}): {'ok' if scaling >= SCALING else 'short'}")
    report(
        "job_throughput",
        Figures("ours, 2 ranks, best", best[0], "tokens/s"),
        Figures("bare torchrun, 2 ranks, best", best[1], "tokens/s"),
        GOAL,
        "the same script bare",
        higher_is_better=True,
    )


def as_job(kernel: Kernel, ranks: int) -> float:
    kernel.run(f"{LINE.format(ranks=ranks)}\n{SCRIPT}", timeout=600)
    return told(kernel.run("print(job.log())", timeout=60).text)


def bare(script: Path, ranks: int) -> float:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), str(script)]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return told(done.stdout)


def told(text: str) -> float:
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith("tokens/s")))
