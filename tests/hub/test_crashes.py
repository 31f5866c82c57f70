"""Parts of the product killed with -9: workspaces go on, the part comes back and finds them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import httpx
from gearshift_testing.driving import Driver, until
from gearshift_testing.evidence import trees_of, write_server_config
from gearshift_testing.running import Running

Person = Callable[[str], Driver]


def pid_of(running: Running, part: str) -> int:
    facts = json.loads((running.home.run / f"{part}.pid.json").read_text())
    return int(facts["pid"])


def kill(running: Running, part: str) -> None:
    """Kill a part and wait until another process has its place."""
    old = pid_of(running, part)
    os.kill(old, signal.SIGKILL)
    until(lambda: pid_of(running, part) != old, 10, f"{part} is started again")


def answers(url: str, token: str) -> bool:
    try:
        return httpx.get(url, headers={"Authorization": f"token {token}"}, timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_a_workspace_outlives_the_hub_and_the_next_hub_adopts_it(person: Person, running: Running) -> None:
    leo = person("leo")
    leo.start("work")
    before = leo.state("work")
    assert leo.server("work", "api/status").status_code == 200
    kill(running, "hub")
    assert leo.server("work", "api/status").status_code == 200  # known to the server for five minutes
    until(lambda: answers(f"{running.url}hub/api/user", running.sign_in("leo")), 30, "the hub is back")
    after = until(lambda: leo.state("work"), 10, "state")
    assert (after["ready"], after["pid"], after["tree"]) == (True, before["pid"], before["tree"])
    assert leo.workspace("work")["state"] == "ready"
    assert leo.stop("work")["state"] == "stopped"


def test_a_frozen_server_is_known_to_the_next_hub(person: Person, running: Running) -> None:
    leo = person("leo")
    leo.start("work")
    before = leo.state("work")
    move = f"gearshift/workspaces/{leo.user}/work"
    running.hub("POST", f"{move}/hold", {"operation": "sw"})
    running.hub("POST", f"{move}/stop", {"operation": "sw", "freeze": True, "resume": True})
    kill(running, "hub")
    until(lambda: answers(f"{running.url}hub/api/user", running.sign_in("leo")), 30, "the hub is back")
    back = running.hub("POST", f"{move}/start", {"operation": "sw", "thaw": True})
    assert back.json()["pid"] == before["pid"], back.text
    running.hub("POST", f"{move}/release", {"operation": "sw", "keep": "old"})
    assert leo.server("work", "api/status").status_code == 200


def test_a_workspace_outlives_control_and_its_interval_stays_open(person: Person, running: Running) -> None:
    leo = person("leo")
    before = leo.start("work")
    kill(running, "control")
    until(lambda: answers(f"{running.api}/me", running.sign_in("leo")), 30, "control is back")
    after = leo.workspace("work")
    assert after["state"] == "ready"
    assert after["interval_open"] == before["interval_open"]
    assert leo.stop("work")["state"] == "stopped"


def test_a_workspace_outlives_the_fork_server_and_the_next_one_starts_others(
    person: Person, running: Running
) -> None:
    leo = person("leo")
    leo.start("work")
    pid = leo.state("work")["pid"]
    kill(running, "forkserver")
    assert leo.server("work", "api/status").status_code == 200
    leo.start("more")
    assert leo.state("work")["pid"] == pid
    leo.stop("work")


def test_the_proxy_comes_back_with_its_routes(person: Person, running: Running) -> None:
    leo = person("leo")
    leo.start("work")
    kill(running, "traefik")
    until(
        lambda: answers(f"{running.server('leo', 'work')}api/status", running.sign_in("leo")),
        20,
        "the route is back",
    )


def test_a_start_in_progress_outlives_the_hub(person: Person, running: Running) -> None:
    leo = person("leo")
    leo.start("work")
    leo.stop("work")
    write_server_config(running, "leo", "import time\ntime.sleep(5)\n")
    try:
        start = leo.begin_start("work")
        until(lambda: trees_of(leo, "work"), 20, "the server's process")
        tree = trees_of(leo, "work")[0].name
        kill(running, "hub")
        until(lambda: answers(f"{running.url}hub/api/user", running.sign_in("leo")), 30, "the hub is back")
        leo.done(start, 60)
    finally:
        write_server_config(running, "leo", "")
    assert leo.state("work")["ready"] is True
    assert [one.name for one in trees_of(leo, "work")] == [leo.state("work")["tree"]]
    assert leo.state("work")["tree"] == tree
