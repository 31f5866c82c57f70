"""One old and one new kernel with the whole table of objects moved between them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gearshift_testing.ipykernels import Kernel, state
from gearshift_testing.objects import ROWS

KEY = "b'0123456789abcdef0123456789abcdef'"
DRAW = "[random.random(), float(np.random.rand()), float(np.random.randn()), torch.rand(1).item()]"
KEEP_STATES = "_states = random.getstate(), np.random.get_state(), torch.get_rng_state()"
PUT_BACK = "random.setstate(_states[0]); np.random.set_state(_states[1]); torch.set_rng_state(_states[2])"


@dataclass
class Moved:
    """Two kernels, what plan, save and load said, and the next random numbers before and after."""

    old: Kernel
    new: Kernel
    path: Path
    plan: dict[str, Any]
    saved: dict[str, Any]
    loaded: dict[str, Any]
    expected_draws: list[float]
    draws: list[float]

    def variable(self, name: str, report: str = "loaded") -> dict[str, Any]:
        found: dict[str, Any] = getattr(self, report)
        return next(v for v in found["variables"] if v["name"] == name)


@contextlib.contextmanager
def moved_objects(folder: Path) -> Iterator[Moved]:
    """Runs all rows in the old kernel, saves, loads in the new one."""
    path = folder / "kernel.gsk"
    with Kernel(GS_TEST_DROP="1") as old, Kernel(GS_TEST_DROP="1") as new:
        for row in ROWS:
            for cell in row.cells:
                old.run(cell)
        old.run(KEEP_STATES)
        expected = old.value(DRAW)
        old.run(PUT_BACK)
        plan = report(old, "plan(globals())")
        saved = save(old, path)
        loaded = load(new, path)
        yield Moved(old, new, path, plan, saved, loaded, expected, new.value(DRAW))


def save(kernel: Kernel, path: Path) -> dict[str, Any]:
    return report(kernel, f"save(globals(), {str(path)!r}, {KEY})")


def load(kernel: Kernel, path: Path, more: str = "") -> dict[str, Any]:
    return report(kernel, f"load({str(path)!r}, globals(), {KEY}, {more})")


def report(kernel: Kernel, call: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kernel.value(state(call)))
    return found
