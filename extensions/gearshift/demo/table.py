"""Knows how the demo's result looks: one line a step, what happened, how long it took, what it cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Line:
    """One step; `what` is filled in by the step itself."""

    step: str
    what: str = ""
    seconds: float = 0.0
    cost: str = ""


@dataclass
class Table:
    """The lines so far; each is printed when its step ends. `cost` says what was spent since it was last asked."""

    cost: Callable[[], str] = str
    lines: list[Line] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[Line]:
        line, started = Line(name), time.monotonic()
        yield line
        line.seconds, line.cost = time.monotonic() - started, self.cost()
        self.lines.append(line)
        print(f"  {line.step:<9}{line.seconds:7.2f} s  {line.cost:>9}  {line.what}", flush=True)
