"""Row `job_start`: submit in a cell -> first training step printed, 2 ranks; the peer is a bare torchrun of the script.

Cold is the first job of a person: nothing waits for it. Warm is one that comes when torch is in memory from the last one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from gearshift.kernel import Kernel

from benchmarks.measure import Figures, alternate, report, timed
from benchmarks.ours import Ours

RUNS, COLD_GOAL, WARM_GOAL = 10, 1.05, 0.35
SCRIPT = """
import os, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 10))
optimizer = torch.optim.AdamW(net.parameters())
for step in range(2):
    loss = net(torch.ones(8, 64)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 0 and dist.get_rank() == 0:
        print("first step", flush=True)
dist.destroy_process_group()
"""
LINE = "%%gearshift --nodes 2 --procs 1 --machine sim-1 --max-price 100 --max-cost 100"
WAIT = """
import time
while "first step" not in job.log():
    time.sleep(0.02)
"""


def main() -> None:
    with closing(Ours()) as ours, tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(SCRIPT)
        kernel = Kernel(ours.start("mei"), ours.tokens["mei"])
        kernel.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {ours.tokens['mei']!r}", silent=True)
        kernel.run("%load_ext gearshift", silent=True)
        cold, peer = alternate(lambda: first(ours, kernel), lambda: bare(ours, script), RUNS)
        warm, again = alternate(lambda: next_one(ours, kernel), lambda: bare(ours, script), RUNS)
    report(
        "job_start", Figures("ours, cold", cold), Figures("torchrun", peer), COLD_GOAL, "bare torchrun, cold"
    )
    report(
        "job_start", Figures("ours, warm", warm), Figures("torchrun", again), WARM_GOAL, "bare torchrun, warm"
    )


def first(ours: Ours, kernel: Kernel) -> float:
    ours.end_standbys()
    return submit(kernel)


def next_one(ours: Ours, kernel: Kernel) -> float:
    ours.wait_for_standby()
    return submit(kernel)


def bare(ours: Ours, script: Path) -> float:
    """Not beside a standby that imports torch after the job before."""
    ours.wait_for_standby()
    return torchrun(script)


def submit(kernel: Kernel) -> float:
    def until_first_step() -> None:
        kernel.run(f"{LINE}\n{SCRIPT}", timeout=120)
        kernel.run(WAIT, timeout=120)

    seconds = timed(until_first_step)
    kernel.run("job.wait()", timeout=120)
    return seconds


def torchrun(script: Path) -> float:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        seconds = timed(lambda: next(line for line in process.stdout or () if "first step" in line))
        process.wait()
    return seconds
