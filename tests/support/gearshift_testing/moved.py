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


@dataclass
class Moved:
    """Two kernels, and what plan, save and load said."""

    old: Kernel
    new: Kernel
    path: Path
    plan: dict[str, Any]
    saved: dict[str, Any]
    loaded: dict[str, Any]

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
        plan = json.loads(old.value(state("plan(globals())")))
        saved = json.loads(old.value(state(f"save(globals(), {str(path)!r}, {KEY})")))
        loaded = json.loads(new.value(state(f"load({str(path)!r}, globals(), {KEY})")))
        yield Moved(old, new, path, plan, saved, loaded)
