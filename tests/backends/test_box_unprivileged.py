"""The box without root: one uid, no control groups. Run as a uid of its own when we are root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

UID = "28900"
Seen = dict[str, Any]


@pytest.fixture(scope="module")
def seen() -> Seen:
    script = Path(__file__).with_name("unprivileged_script.py")
    drop = ["setpriv", "--reuid", UID, "--regid", UID, "--clear-groups"] if os.geteuid() == 0 else []
    support = Path(__file__).parents[1] / "support"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(support)}
    command = [*drop, sys.executable, str(script)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, env=environment, cwd="/", check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_a_server_starts_answers_and_ends_politely(seen: Seen) -> None:
    server = seen["server_life"]
    print(f"\nwithout root: first HTTP 200 after {server['answered_after']:.3f} s")
    assert server["answered_after"] < 30
    assert server["kernel"]
    assert server["exit_code"] == 0
    assert server["runtime_mode"] == "0o700"
    assert not server["runtime_left"]
    assert server["memory_bytes"] > 1 << 20
    assert server["cpu_seconds"] > 0
    assert len(server["listed"]) == 1


def test_freezing_is_declined_and_not_pretended(seen: Seen) -> None:
    assert seen["server_life"]["frozen"] is False


def test_stop_leaves_no_daemon_not_even_one_without_an_environment(seen: Seen) -> None:
    print(f"\nwithout root: slowest of 5 stops {seen['daemons']['slowest']:.3f} s")
    assert seen["daemons"]["left"] == 0


def test_a_tree_without_its_keeper_is_still_found_by_its_mark(seen: Seen) -> None:
    assert seen["orphans_of_a_killed_keeper"]["ended"]
    assert seen["orphans_of_a_killed_keeper"]["left"] <= 1  # the one without an environment carries no mark


def test_limits_hold_for_each_process(seen: Seen) -> None:
    assert seen["limits"]["memory"] == "refused"
    assert seen["limits"]["cores"] == ["1", "1"]
    assert seen["limits"]["different"]


def test_a_running_tree_gets_other_limits_without_groups(seen: Seen) -> None:
    resizing = seen["resizing"]
    assert resizing["lines"] == ["1 256", f"{resizing['all']} 512"]
    assert resizing["in_use"] > 64 << 20
    assert resizing["alive"]


def test_exit_codes_outlive_the_fork_server(seen: Seen) -> None:
    assert seen["crash"]["started_again"] == "hello"


def test_another_uid_is_refused_with_the_reason(seen: Seen) -> None:
    assert "without root all processes run as" in seen["refusal"]["text"]


def test_the_end_of_the_fork_server_leaves_no_process(seen: Seen) -> None:
    assert seen["left_at_the_end"] == []
