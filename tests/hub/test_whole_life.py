"""A deployment from first start to clean end: under a base URL, over a kill of its supervisor, and not as root."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from gearshift_hub.backends.local.processes import Trees
from gearshift_hub.paths import Home
from gearshift_testing import running as products
from gearshift_testing.driving import Driver, until
from gearshift_testing.running import DEPLOYMENT, Running


def processes_of(home: Home) -> list[str]:
    """Every process whose command line or environment names this folder."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "environ"]):
        words = [*(process.info["cmdline"] or []), *(process.info["environ"] or {}).values()]
        if process.pid != os.getpid() and any(str(home.root) in word for word in words):
            found.append(f"{process.pid} {' '.join(process.info['cmdline'] or [])}")
    return found


@pytest.fixture(scope="module")
def team() -> Iterator[Running]:
    product = products.start(base_url="/team/")
    yield product
    product.stop()
    product.remove()
    product.output.unlink(missing_ok=True)


def test_everything_works_below_a_base_url(team: Running) -> None:
    assert team.url.endswith("/team/")
    mia = Driver(team, "mia")
    workspace = mia.start("work")
    assert workspace["url"].startswith("/team/user/mia/work/")
    assert mia.server("work", "lab").status_code == 200


def test_after_a_kill_of_the_supervisor_the_next_one_takes_over_with_workspaces_running(
    team: Running,
) -> None:
    mia = Driver(team, "mia")
    mia.start("work")
    before = mia.state("work")
    team.process.kill()
    team.process.wait()
    again = products.start(base_url="/team/", home=team.home)
    team.process = again.process
    assert (
        "ended what a killed supervisor left: control, forkserver, hub, traefik" in again.output.read_text()
    )
    after = until(lambda: mia.state("work"), 10, "the hub answers")
    assert (after["ready"], after["pid"], after["port"]) == (True, before["pid"], before["port"])
    assert mia.server("work", "api/status").status_code == 200
    assert mia.workspace("work")["state"] == "ready"


def test_a_second_start_takes_seconds_and_makes_no_new_admin(team: Running) -> None:
    assert team.stop() == 0
    began = time.monotonic()
    team.process = products.start(base_url="/team/", home=team.home).process
    assert time.monotonic() - began < 60  # nothing is installed or built again
    assert "one-time code" not in team.output.read_text()
    assert Driver(team, "mia").workspace("work")["state"] == "stopped"


def test_ctrl_c_stops_workspaces_and_leaves_no_process(team: Running) -> None:
    mia = Driver(team, "mia")
    mia.start("work")
    assert team.stop() == 0
    assert Trees(team.home).trees() == []
    assert processes_of(team.home) == []
    assert list(team.home.run.glob("*.pid.json")) == []


@pytest.mark.root
def test_one_person_can_run_it_without_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    home = products.new_home()
    os.chown(home.root, 23456, 23456)
    output = home.root.with_suffix(".out")
    argv = ["setpriv", "--reuid", "23456", "--regid", "23456", "--clear-groups"]
    argv += ["env", "-i", f"HOME={home.root}", "PATH=/usr/bin:/bin"]
    argv += [sys.executable, "-P", "-m", "gearshift_hub.supervisor", "--home", str(home.root)]
    argv += ["--deployment", str(_readable(DEPLOYMENT, home))]
    with output.open("wb") as said:
        process = subprocess.Popen(argv, stdout=said, stderr=said, cwd="/")
    product = Running(home, process, output)
    try:
        until(lambda: "Ctrl-C stops everything" in output.read_text(), 60, output.read_text())
        assert "Not root" in output.read_text()
        products.activate_admin(product)
        admin = Driver(product, products.ADMIN)
        assert admin.start("work")["state"] == "ready"
        assert admin.server("work", "lab").status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert processes_of(home) == []
    finally:
        product.stop()
        product.remove()
        output.unlink(missing_ok=True)


def _readable(file: Path, home: Home) -> Path:
    copy = home.root / "deployment.toml"
    copy.write_text(file.read_text())
    copy.chmod(0o644)
    return copy
