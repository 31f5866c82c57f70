"""Row `switch_state`: cpu-small -> sim-1 and back with 1 GB of tensors, 200 small variables, 30 functions, one optimizer.

The peer writes the same number of bytes to the same disk, syncs them, reads them again, and is given one second more.
`dill.dump_session` and `load_session` of the same namespace, in two plain processes, are named beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from gearshift.kernel import Kernel
from gearshift.model.operation import Operation

from benchmarks.loaded_kernel import BYTES, CELLS, CHECK
from benchmarks.measure import CannotMeasure, Figures, alternate, report, timed
from benchmarks.ours import Ours

RUNS, GOAL, CHUNK = 10, 1.3, 4 << 20
GIVEN_S = 1.0


def main() -> None:
    with closing(Ours()) as ours:
        kernel = Kernel(ours.start("mei"), ours.tokens["mei"], "bench.ipynb")
        for cell in CELLS:
            kernel.run(cell)
        folder = ours.running.home.kernels
        machines = iter(["sim-1", "cpu-small"] * RUNS)
        steps: list[Operation] = []
        values = alternate(
            lambda: timed(lambda: steps.append(switch(ours, kernel, next(machines)))),
            lambda: timed(lambda: raw(folder)) + GIVEN_S,
            RUNS,
        )
        kernel.run(CHECK)
        print(f"ours, step by step (medians): {_by_step(steps)}")
        print(f"dill dump and load in plain processes: {dill(folder)}")
    report(
        "switch_state", Figures("ours", values[0]), Figures("raw + 1 s", values[1]), GOAL,
        "raw write, fsync and read of the same bytes + 1 s",
    )  # fmt: skip


def switch(ours: Ours, kernel: Kernel, machine: str) -> Operation:
    """From the press to the first answer of the kernel there."""
    done = ours.switch("mei", machine)
    kernel.disconnect()
    kernel.run("1")
    return done


def raw(folder: Path) -> None:
    data = memoryview(bytearray(CHUNK))
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(BYTES // CHUNK):
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        while file.readinto(data):
            pass


def dill(folder: Path) -> str:
    """Seconds of both, as the two processes tell them; without the optimizer where dill cannot take it."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        try:
            return _dump_and_load(CELLS, Path(place) / "session")
        except CannotMeasure as reason:
            return f"{_dump_and_load(CELLS[:-1], Path(place) / 'session')} without model and optimizer ({reason})"


def _dump_and_load(cells: Sequence[str], session: Path) -> str:
    dump = (
        *cells,
        "import dill, time, os; at = time.perf_counter()",
        f"dill.dump_session({str(session)!r}); os.fsync(os.open({str(session)!r}, os.O_RDONLY))",
        "print(time.perf_counter() - at)",
    )
    load = (
        "import dill, time; at = time.perf_counter()",
        f"dill.load_session({str(session)!r}); print(time.perf_counter() - at)",
    )
    return " and ".join(f"{_told(code):.2f} s" for code in (dump, load))


def _told(lines: Sequence[str]) -> float:
    """The last line that a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotMeasure(done.stderr.strip().splitlines()[-1])
    return float(done.stdout.split()[-1])


def _by_step(operations: list[Operation]) -> str:
    def median(step: str) -> float:
        found = [op.step_named(step) for op in operations]
        spans = [(s.ended_at - s.started_at).total_seconds() for s in found if s.started_at and s.ended_at]
        return sorted(spans)[len(spans) // 2]

    return ", ".join(f"{step.name} {median(step.name):.2f} s" for step in operations[0].steps)
