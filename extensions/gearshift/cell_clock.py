"""Knows how long each cell of this kernel took; IPython loads it when a kernel starts, so it imports next to nothing."""

from __future__ import annotations

import sys
import time
from typing import Any

from gearshift import first_use, shared_memory

_started: dict[int, float] = {}
_seconds: dict[int, float] = {}


def load_ipython_extension(shell: Any) -> None:
    """Called once per kernel, by the settings of the environment or with a restored kernel's extensions: all that a
    kernel has of ours from its start begins here."""
    first_use.offer(shell)
    shell.events.register("post_run_cell", _tell_of_shared_memory)
    shell.events.register("pre_run_cell", _begin)
    shell.events.register("post_run_cell", _end)


def seconds() -> dict[int, float]:
    """Cell number -> seconds it ran when it last ran; cells that nobody timed are not in it."""
    return dict(_seconds)


def remember(seen: dict[int, float]) -> None:
    """What was seen on the machine before."""
    _seconds.update(seen)


def _tell_of_shared_memory(result: Any) -> None:
    said = shared_memory.sentence(str(result.error_in_exec)) if result.error_in_exec is not None else None
    if said is not None:
        print(said, file=sys.stderr)


def _begin(info: Any) -> None:
    _started[id(info)] = time.perf_counter()


def _end(result: Any) -> None:
    began = _started.pop(id(result.info), None)
    if began is not None and result.execution_count is not None:
        _seconds[result.execution_count] = time.perf_counter() - began
