"""A real control killed with -9 in the middle of real operations: they come out right, and so does the bill."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

import httpx
import pytest
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running

BACK_S = 60.0
# Four kills in all: at the fifth within 30 s the supervisor takes control for broken and gives up.


@pytest.fixture
def person(running: Running) -> Driver:
    return Driver(running, "killed-in-the-middle")


@pytest.mark.parametrize("after_s", [0.1])
def test_killed_during_a_start_it_gets_ready_or_leaves_nothing(
    running: Running, person: Driver, after_s: float
) -> None:
    operation = person.begin_start("work")
    _kill_control(running, after_s)
    ended = _ended(person, operation)
    _agree(person, ended)
    person.stop("work")
    _add_up(running)


@pytest.mark.parametrize("after_s", [0.05, 0.4, 0.8])
def test_killed_during_a_switch_it_is_on_one_of_the_two_machines(
    running: Running, person: Driver, after_s: float
) -> None:
    person.start("work")
    operation = person.begin("switch", workspace=f"{person.user}/work", machine="sim-1")
    _kill_control(running, after_s)
    ended = _ended(person, operation)
    workspace = _agree(person, ended)
    assert workspace["state"] == "ready"
    assert workspace["spec"]["machine"] == ("sim-1" if ended["state"] == "done" else "cpu-small")
    assert not person.state("work")["frozen"]
    person.stop("work")
    _add_up(running)


def _kill_control(running: Running, after_s: float) -> None:
    pid = int(json.loads((running.home.run / "control.pid.json").read_text())["pid"])
    time.sleep(after_s)  # the moment of the kill is the parameter of the test
    os.kill(pid, signal.SIGKILL)


def _ended(person: Driver, operation: dict[str, Any]) -> dict[str, Any]:
    """The operation once the next control has brought it to its end."""

    def look() -> dict[str, Any] | None:
        try:
            found = person.call("GET", f"operations/{operation['id']}")
        except httpx.TransportError:
            return None
        known = found.json() if found.status_code == 200 else {"state": "running"}
        return known if known["state"] != "running" else None

    found = until(look, BACK_S, "the next control ends the operation")
    assert found is not None
    return found


def _agree(person: Driver, ended: dict[str, Any]) -> dict[str, Any]:
    """Hub, workspace and ledger say the same."""
    workspace: dict[str, Any] = person.workspace("work")
    assert (workspace["state"] == "ready") == (ended["state"] == "done" or ended["kind"] == "switch")
    assert person.state("work")["ready"] == (workspace["state"] == "ready") == workspace["interval_open"]
    return workspace


def _add_up(running: Running) -> None:
    report = running.internal("GET", "ledger/verify")
    assert report["ok"], report["faults"]
