"""Row `tracking`: 500 cells of an ordinary notebook in the kernel every workspace has, against one that tracks nothing.

Tracking is the clock of cells that IPython loads by the settings of the environment; the peer's kernel is started with
that setting emptied. The look at the whole state that a plan takes is measured beside it, and its memory counts.
"""

from __future__ import annotations

import tempfile

import psutil
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

from benchmarks.measure import CannotMeasure, Figures, alternate, report, timed

RUNS, CELLS, GOAL, GOAL_MB = 10, 500, 1.02, 20
OFF = ["--IPKernelApp.extra_extensions=[]"]
IS_ON = "import sys; assert 'gearshift.cell_clock' in sys.modules"
LOOK = "__import__('gearshift.state', fromlist=['plan']).plan(globals()); None"
FIRST = "import json, math, random\nimport numpy as np, pandas as pd"
FIVE = (
    "values_{n} = [random.random() for _ in range(500)]",
    "frame_{n} = pd.DataFrame({{'a': values_{n}, 'b': np.arange(500) % 7}})",
    "def mean_{n}(frame):\n    return frame.groupby('b')['a'].mean()",
    "result_{n} = mean_{n}(frame_{n}); text_{n} = json.dumps(result_{n}.to_dict())",
    "total = sum(math.sqrt(v) for v in values_{n}); print({n}, round(total, 2))",
)


def main() -> None:
    cells = [FIRST, *(cell.format(n=turn) for turn in range(CELLS // len(FIVE)) for cell in FIVE)]
    memory: dict[bool, list[float]] = {True: [], False: []}
    computed: dict[bool, list[float]] = {True: [], False: []}
    looks: list[float] = []
    on, off = alternate(
        lambda: run(cells, memory, computed, looks), lambda: run(cells, memory, computed), RUNS
    )
    held, base = Figures("memory, on", memory[True], "MB"), Figures("memory, off", memory[False], "MB")
    more = held.median - base.median
    print(held, base, sep="\n")
    print(Figures("the first look of a plan, beside the row", looks))
    used, without = Figures("processor, on", computed[True]), Figures("processor, off", computed[False])
    print(used, without, sep="\n")
    print(f"tracking computes {used.median / without.median:.3f} x as long, whatever else this box does")
    print(f"tracking holds {more:+.1f} MB (goal <= {GOAL_MB:+d}): {'ok' if more <= GOAL_MB else 'short'}")
    report("tracking", Figures("on", on), Figures("off", off), GOAL, "the same cells without it")


def run(
    cells: list[str],
    memory: dict[bool, list[float]],
    computed: dict[bool, list[float]],
    looks: list[float] | None = None,
) -> float:
    """Seconds that the cells took, each answered before the next; the kernel's memory at the end and the processor time
    of the cells are noted. Tracked, and looked at, where `looks` takes the seconds of that."""
    tracked = looks is not None
    with tempfile.TemporaryDirectory() as folder:
        manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/k")
        manager.start_kernel(extra_arguments=[] if tracked else OFF)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(60)
            if tracked:
                ask(client, IS_ON)
            process = psutil.Process(manager.provisioner.pid)
            before = _processor_s(process)
            took = timed(lambda: ask(client, *cells))
            computed[tracked].append(_processor_s(process) - before)
            if looks is not None:
                looks.append(timed(lambda: ask(client, LOOK)))
            memory[tracked].append(process.memory_info().rss / 1e6)
            return took
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def _processor_s(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return spent.user + spent.system


def ask(client: BlockingKernelClient, *cells: str) -> None:
    """Run each, the next when the one before has been answered."""
    for cell in cells:
        answer = client.execute(cell, reply=True, timeout=60)
        if answer["content"]["status"] != "ok":
            raise CannotMeasure(f"a cell failed: {answer['content'].get('evalue')}")
