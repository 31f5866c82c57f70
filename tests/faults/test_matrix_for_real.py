"""The fault matrix on the real thing: real processes killed with -9 while a gate holds a real switch at a step."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from gearshift.kernel import Kernel
from gearshift_testing.driving import until
from gearshift_testing.gates import Point
from gearshift_testing.held_switches import BACK_S, OTHER, Bench, held_switches


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """One deployment for all cells."""
    with held_switches() as bench:
        yield bench


@pytest.fixture(autouse=True)
def _ready(bench: Bench) -> None:
    bench.ready()


def test_control_killed_at_save_stop_start_and_restore_goes_on_from_each(bench: Bench) -> None:
    points: list[Point] = [("forward", step, "begun") for step in ("save", "stop", "start", "restore")]
    operation = bench.switch(*points)
    for point in points:
        bench.at(point, lambda: bench.kill("control"))
    bench.is_new(operation)


def test_a_hub_that_crashes_between_stop_and_start_is_waited_for(bench: Bench) -> None:
    operation = bench.switch(("forward", "stop", "done"), ("forward", "start", "begun"))
    bench.at(("forward", "stop", "done"), lambda: bench.kill("hub"))
    bench.at(("forward", "start", "begun"), lambda: bench.kill("hub"))
    bench.is_new(operation)


def test_a_proxy_killed_at_start_is_started_again_with_its_routes(bench: Bench) -> None:
    operation = bench.switch(("forward", "start", "begun"))
    bench.at(("forward", "start", "begun"), lambda: bench.kill("traefik"))
    ended = bench.ended(operation)
    done = ended["state"] == "done"
    bench.is_on(OTHER[bench.machine] if done else bench.machine, same_process=not done)


def test_a_new_server_killed_after_its_start_leaves_the_old_one_as_it_was(bench: Bench) -> None:
    operation = bench.switch(("forward", "start", "done"))
    bench.at(("forward", "start", "done"), bench.kill_server)
    bench.is_as_it_was(operation)


def test_a_new_server_killed_at_restore_and_control_on_the_way_back_change_nothing(bench: Bench) -> None:
    operation = bench.switch(("forward", "restore", "begun"), ("back", "stop", "begun"))
    bench.at(("forward", "restore", "begun"), bench.kill_server)
    bench.at(("back", "stop", "begun"), lambda: bench.kill("control"))
    bench.is_as_it_was(operation)


def test_an_old_server_killed_while_frozen_is_not_missed(bench: Bench) -> None:
    old = bench.driver.state("work")["tree"]
    operation = bench.switch(("forward", "stop", "done"))
    bench.at(("forward", "stop", "done"), lambda: bench.kill_server(old))
    bench.is_new(operation)


def test_an_old_server_killed_while_frozen_starts_again_with_what_was_saved(bench: Bench) -> None:
    old = bench.driver.state("work")["tree"]
    operation = bench.switch(("forward", "start", "done"))

    def both() -> None:
        bench.kill_server()
        bench.kill_server(old)

    bench.at(("forward", "start", "done"), both)
    ended = bench.ended(operation)
    assert ended["result"]["back"]["how"] == "started again"
    bench.is_on(bench.machine, same_process=False)


def test_a_kernel_killed_at_save_takes_only_itself(bench: Bench) -> None:
    other = Kernel(bench.product.server("faye", "work"), bench.product.sign_in("faye"), "other.ipynb")
    pid = int(other.run("import os; mine = 5; print(os.getpid())").text)
    other.close()
    operation = bench.switch(("forward", "save", "begun"))
    bench.at(("forward", "save", "begun"), lambda: os.kill(pid, signal.SIGKILL))
    bench.is_new(operation)


@pytest.mark.root
def test_a_disk_that_is_full_or_read_only_at_save_changes_nothing(bench: Bench) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    bench.driver.stop("work")
    with _small_disk(bench) as disk:
        bench.ready()
        bench.run("big = os.urandom(12 * 2**20)")
        server = str(bench.driver.state("work")["pid"])
        for spoil, says in ((_fill, "full"), (_close, "Read-only")):
            operation = bench.switch(("forward", "save", "begun"))
            bench.at(("forward", "save", "begun"), lambda spoil=spoil: spoil(disk, server))
            ended = bench.ended(operation)
            assert says in ended["error"]["message"]
            bench.is_on(bench.machine, same_process=True)
        subprocess.run(["mount", "-o", "remount,rw,size=64m", str(disk)], check=True)
        bench.driver.stop("work")


def test_an_old_server_killed_at_save_ends_the_workspace_and_nothing_is_charged_after(bench: Bench) -> None:
    operation = bench.switch(("forward", "save", "begun"))
    bench.at(("forward", "save", "begun"), bench.kill_server)
    assert bench.ended(operation)["state"] == "failed"
    assert bench.driver.workspace("work")["state"] in ("failed", "stopped")
    bench.ready()


def test_control_killed_at_reserve_verify_and_release_goes_on_from_each(bench: Bench) -> None:
    points: list[Point] = [("forward", step, "begun") for step in ("reserve", "verify", "release")]
    with ThreadPoolExecutor(1) as aside:
        asked = aside.submit(bench.switch, *points)
        bench.at(points[0], lambda: bench.kill("control"))
        asked.exception()  # the answer went with the control that was asked
    newest = until(lambda: _newest(bench), BACK_S, "control is back")
    for point in points[1:]:
        bench.at(point, lambda: bench.kill("control"))
    bench.is_new(newest)


def _newest(bench: Bench) -> Any:
    with suppress(httpx.TransportError):
        answer = bench.driver.call("GET", "operations?workspace=faye/work")
        if answer.status_code == 200:
            return answer.json()[0]
    return None


def _fill(disk: Path, _server: str) -> None:
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)


def _close(disk: Path, server: str) -> None:
    """Read-only for the server and its kernels: what they have open already, as the ids of files, keeps a disk from more."""
    for options in (["--bind", str(disk)], ["-o", "remount,bind,ro"]):
        subprocess.run(["nsenter", "-t", server, "-m", "mount", *options, str(disk)], check=True)


@contextmanager
def _small_disk(bench: Bench) -> Iterator[Path]:
    """The folder of the workspace's kernel state on a disk of its own."""
    (place,) = [
        folder for folder in bench.product.home.kernels.iterdir() if (folder / "cookie_secret").exists()
    ]
    owner = place.stat()
    options = f"size=64m,mode=0700,uid={owner.st_uid},gid={owner.st_gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
