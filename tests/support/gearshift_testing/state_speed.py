"""Prints how fast kernel state is saved and loaded, beside a raw write and read of as many bytes."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gearshift_testing.ipykernels import Kernel, state
from gearshift_testing.moved import KEY

BLOCK = 1 << 20
CELLS = (
    "import torch, numpy as np\nlayers = [torch.rand(4 << 20) for _ in range({megabytes} // 16)]",
    "for i in range(200):\n    globals()[f'v{i}'] = list(range(i))",
    "for i in range(30):\n    exec(f'def f{i}(x):\\n    return x + {i}')",
    "net = torch.nn.Linear(64, 64)\nopt = torch.optim.AdamW(net.parameters())",
    "net(torch.rand(4, 64)).sum().backward()\nopt.step()",
)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def raw_write(path: Path, megabytes: int) -> None:
    data = os.urandom(BLOCK)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(data)
        file.flush()
        os.fsync(file.fileno())


def raw_read(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(BLOCK):
            pass


def main(megabytes: int, folder: Path) -> None:
    path, raw = folder / "kernel.gsk", folder / "raw"
    with Kernel() as old, Kernel() as new:
        for cell in CELLS:
            old.run(cell.replace("{megabytes}", str(megabytes)))
        new.run("import torch, numpy")
        write_s = seconds(lambda: raw_write(raw, megabytes))
        save_s = seconds(lambda: old.value(state(f"save(globals(), {str(path)!r}, {KEY})")))
        read_s = seconds(lambda: raw_read(raw))
        load_s = seconds(lambda: new.value(state(f"load({str(path)!r}, globals(), {KEY})")))
        touch_s = seconds(lambda: new.value("float(sum(x.sum() for x in layers)) > 0"))
    print(f"{megabytes} MiB: save {save_s:.2f} s (raw write + fsync {write_s:.2f} s)")
    print(
        f"load {load_s:.2f} s, all verified (raw read {read_s:.2f} s); touching every page then {touch_s:.2f} s"
    )
    print(f"together {(save_s + load_s) / (write_s + read_s):.2f} x raw")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as place:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1024, Path(place))
