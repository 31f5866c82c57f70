"""The demo is the whole line on real input: its exit status is the test."""

from __future__ import annotations

import subprocess
import sys


def test_the_demo_starts_a_deployment_of_its_own_and_walks_the_whole_line() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gearshift.demo"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    steps = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert steps == ["sign", "start", "attach", "train", "switch", "train", "compare", "job", "stop", "bill"]
    assert "bit by bit" in done.stdout
    assert "ZeRO-2 on 2 nodes" in done.stdout
    assert "ledger intact" in done.stdout
