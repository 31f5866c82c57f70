"""The end of work on a real product: dropped with its variables and no browser, and back by one command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest
from gearshift.kernel import Kernel
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import Running

MAIN = "import sys; from gearshift.cli import main; sys.exit(main())"
CAPS = ("--max-price", "2", "--max-cost", "5")


@pytest.fixture
def wren(running: Running) -> Iterator[Driver]:
    wren = Driver(running, "wren")
    wren.start("work", "sim-1")
    yield wren
    wren.stop("work")


def test_a_workspace_is_dropped_when_its_work_ends_and_comes_back_with_its_variables(
    wren: Driver, running: Running
) -> None:
    with kernel_of(wren) as kernel:
        kernel.run("x = 41")
    said = command(wren, "when-done", "work", "drop")
    assert "When its work ends it drops to cpu-" in said
    until(lambda: wren.workspace("work")["spec"]["machine"].startswith("cpu-"), 90, "it is dropped")
    until(lambda: wren.workspace("work")["state"] == "ready", 90, "it is ready")
    shown = wren.get("workspaces/wren/work/idle")
    assert (shown["before"], shown["end"]) == ("sim-1", None)
    chosen = command(wren, "idle", "work", "--action", "drop", "--after-hours", "2")
    assert chosen.startswith("After 2 h idle it stops, since no other machine is cheaper (your choice).\n")
    assert "Nothing happens when it is idle (the deployment's)." in command(wren, "idle", "work", "--default")
    with kernel_of(wren) as kernel:
        assert kernel.run("x + 1; print(x + 1)").text == "42\n"
    assert command(wren, "back", "work", *CAPS) == "work is on sim-1 again. Same kernels, same variables.\n"
    with kernel_of(wren) as kernel:
        assert kernel.run("print(x)").text == "41\n"


def kernel_of(wren: Driver) -> closing[Kernel]:
    return closing(Kernel(wren.product.server("wren", "work"), wren.product.sign_in("wren")))


def command(wren: Driver, *words: str) -> str:
    env = {**os.environ, "GEARSHIFT_URL": wren.product.url, "GEARSHIFT_TOKEN": wren.product.sign_in("wren")}
    argv = [sys.executable, "-P", "-c", MAIN, *words]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
