"""C16: a cell that computes silently with no browser is not idle; a workspace where nothing runs is, and is warned first.

The case's 60 s of idle time, 180 s of cell and 15 s of warning are 8, 14 and 4 s here.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from gearshift.client import Client
from gearshift.kernel import Kernel
from gearshift.model.units import from_iso
from gearshift_testing.driving import Driver, until
from gearshift_testing.evidence import home_of
from gearshift_testing.running import Running

IDLE_S, CELL_S, WARN_S = 8, 14, 4
PATIENCE_S = 120.0
CELL = f"""
import pathlib, time
time.sleep({CELL_S})
(pathlib.Path.home() / "done").write_text(str(time.time()))
"""


@pytest.fixture
def silas(running: Running) -> Driver:
    return Driver(running, "silas")


def test_c16_a_silent_cell_runs_to_its_end_and_both_stops_were_warned_of(
    silas: Driver, running: Running
) -> None:
    for name in ("silent", "plain"):
        silas.start(name)
        policy = {"action": "stop", "after_hours": IDLE_S / 3600}
        assert silas.call("PUT", f"workspaces/silas/{name}/idle", policy).is_success
        if name == "silent":
            _run_and_leave(silas)
    ready = from_iso(silas.workspace("plain")["since"])
    stopped = {name: _stopped(silas, name) for name in ("plain", "silent")}
    ended = datetime.fromtimestamp(float((home_of(running, "silas") / "done").read_text()), UTC)
    assert _asked(silas, "plain") - ready >= timedelta(seconds=IDLE_S)
    assert _asked(silas, "silent") - ended >= timedelta(seconds=IDLE_S)
    for name, workspace in stopped.items():
        assert (workspace["state"], workspace["reason"]) == ("stopped", "idle")
        assert _asked(silas, name) - _warned(silas, name) >= timedelta(seconds=WARN_S)


def _run_and_leave(silas: Driver) -> None:
    """Send the cell, see it run, and close the connection at once."""
    token = silas.product.sign_in("silas")
    with closing(Kernel(silas.product.server("silas", "silent"), token)) as kernel:
        with pytest.raises(TimeoutError):
            kernel.run(CELL, timeout=0.5)
        until(lambda: _state(silas, kernel.kernel_id) == "busy", PATIENCE_S, "the cell runs")


def _state(silas: Driver, kernel: str) -> str:
    return str(silas.server("silent", f"api/kernels/{kernel}").json()["execution_state"])


def _stopped(silas: Driver, name: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = silas.workspace(name)
        return found if found["state"] == "stopped" else None

    return until(look, PATIENCE_S, f"{name} stops")


def _asked(silas: Driver, name: str) -> datetime:
    """When the stop began."""
    stop = silas.get(f"operations?workspace=silas/{name}")[0]
    assert stop["kind"] == "stop"
    return from_iso(stop["created_at"])


def _warned(silas: Driver, name: str) -> datetime:
    """When its last warning was recorded."""
    with Client(silas.product.url, silas.product.sign_in("silas")) as client:
        said = []
        for event in client.events(f"silas/{name}", last_id=0):
            if event.kind == "notice":
                said.append(event.data)
            if event.data.get("text") == "idle_done":
                break
    return from_iso([one for one in said if one["text"] == "idle_warning"][-1]["at"])
