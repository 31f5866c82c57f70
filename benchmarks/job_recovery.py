"""Row `job_recovery`: a rank is killed -> the next step after it went on from the checkpoint; the peer is the cold start
of the same job, and 2 s. Each job gives both figures."""

from __future__ import annotations

from contextlib import closing

from gearshift.kernel import Kernel
from gearshift.model.units import from_iso

from benchmarks.measure import Figures, report
from benchmarks.ours import Ours

RUNS, GOAL, ALLOWED_SECONDS = 10, 1.0, 2.0
LINE = "%%gearshift --nodes 2 --machine sim-1 --max-restarts 1 --wait --max-price 100 --max-cost 100"
SCRIPT = """
import os, signal, torch
import torch.distributed as dist
from gearshift import train
place = train.init()
torch.manual_seed(0)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 10))
optimizer = torch.optim.AdamW(net.parameters())
begun = 0
if (found := train.load_checkpoint()) is not None:
    begun, state = found
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
for step in range(begun + 1, 9):
    net(torch.ones(8, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    train.log(step=step)
    if step == 4:
        train.save_checkpoint({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, step)
    if step == 6 and place.attempt == 0 and place.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def main() -> None:
    with closing(Ours()) as ours:
        kernel = Kernel(ours.start("mei"), ours.tokens["mei"])
        kernel.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {ours.tokens['mei']!r}", silent=True)
        kernel.run("%load_ext gearshift", silent=True)
        pairs = [one_job(ours, kernel) for _ in range(RUNS)]
    recovered, cold = zip(*pairs, strict=True)
    report(
        "job_recovery",
        Figures("killed -> next step", list(recovered)),
        Figures("cold start + 2 s", list(cold)),
        GOAL,
        "cold start of the same job + 2 s",
    )


def one_job(ours: Ours, kernel: Kernel) -> tuple[float, float]:
    """Both begin cold: a job that found torch imported is forked again, and both figures would be smaller."""
    ours.end_standbys()
    sent = float(kernel.run("import time; print(time.time())").text)
    kernel.run(f"{LINE}\n{SCRIPT}", timeout=600)
    job = kernel.run("print(job.id)").text.strip()
    client = ours.client("mei")
    killed = client.job(job)["attempts"][0]["first_failure"]["at"]
    points = client.job_metrics(job)
    first, again = (min(p["t"] for p in points if p["attempt"] == attempt) for attempt in (0, 1))
    return again - from_iso(killed).timestamp(), first - sent + ALLOWED_SECONDS
