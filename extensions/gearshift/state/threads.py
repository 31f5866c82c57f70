"""Thread pools of a running kernel: as many threads as the machine has cores for, also after the machine was resized.

A pool that was made with more threads than cores runs slower than with fewer (facts-box 5).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def follow(environment: Mapping[str, str]) -> dict[str, Any]:
    """Take over what the machine is now; the number of threads that pools have afterwards, by library."""
    os.environ.update(environment)
    threads = int(environment.get(POOLS[0], 0))
    return {"threads": _set(threads) if threads else {}}


def _set(threads: int) -> dict[str, int]:
    """Only libraries that this kernel has loaded."""
    found: dict[str, int] = {}
    if "numpy" in sys.modules or "torch" in sys.modules:
        pools = _imported("threadpoolctl")
        if pools is not None:
            pools.threadpool_limits(threads)
            found |= {str(one["user_api"]): int(one["num_threads"]) for one in pools.threadpool_info()}
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
        found["torch"] = threads
    if "numexpr" in sys.modules:
        sys.modules["numexpr"].set_num_threads(threads)
        found["numexpr"] = threads
    return found


def _imported(name: str) -> Any:
    """An image may lack it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
