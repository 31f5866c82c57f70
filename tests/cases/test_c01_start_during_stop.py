"""C01: a start while the workspace is still stopping is accepted, waits, and ends in ready."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from gearshift_testing.driving import Driver, until
from gearshift_testing.evidence import intervals, trees_of, write_server_config
from gearshift_testing.running import Running

IGNORES_TERM = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
"""


def test_c01_start_during_stop_is_queued_and_ends_in_ready(
    person: Callable[[str], Driver], running: Running
) -> None:
    cora = person("cora")
    began = time.monotonic()
    cora.start("work")
    normal = time.monotonic() - began
    cora.stop("work")
    write_server_config(running, "cora", IGNORES_TERM)
    cora.start("work")
    stopping = cora.begin_stop("work")
    time.sleep(0.1)
    asked = time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        starts = list(pool.map(lambda _: cora.begin_start("work"), range(3)))
    assert len({start["id"] for start in starts}) == 1
    cora.done(starts[0])
    assert time.monotonic() - asked < 8 + 5 * normal + 5  # five: beside other load
    assert cora.ended(stopping)["state"] == "done"
    assert cora.workspace("work")["state"] == "ready"
    assert len(trees_of(cora, "work")) == 1
    kept = intervals(cora, "work")
    assert len(kept) == 3
    for earlier, later in pairwise(kept):
        assert earlier["closed_at"] <= later["opened_at"]
    assert kept[-1]["closed_at"] is None
    write_server_config(running, "cora", "")
    until(lambda: cora.stop("work")["state"] == "stopped", 20, "stopped")
