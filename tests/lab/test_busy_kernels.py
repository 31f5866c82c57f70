"""Kernels that never answer, several at once: they hold up a save no longer than it may take, and are named."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from gearshift.kernel import Kernel
from gearshift_testing.driving import until
from gearshift_testing.lab_server import TOKEN, FakeControl, Folders, LabServer

SECONDS, LONG_S = 12.0, 50.0
"""What kernels may take in these tests: long enough for one that answers, on a busy box as well."""
STUBBORN = """
import time
while True:
    try:
        time.sleep(0.05)
    except KeyboardInterrupt:
        pass
"""
HOLDS_THE_GIL = """
import ctypes, os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
while not os.path.exists("go"):
    time.sleep(0.02)
lock = ctypes.create_string_buffer(256)
for _ in range(2):  # the second waits for ever, and nothing of Python runs meanwhile
    ctypes.PyDLL(None).pthread_mutex_lock(lock)
"""


@dataclass(frozen=True)
class SmallDisk:
    """A disk of 2 MiB of its own."""

    path: Path

    def read_only(self) -> None:
        self._again("ro")

    def repair(self) -> None:
        self._again("rw,size=16m")

    def _again(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.path)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "none", str(path)], check=True)
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture
def pages(lab: LabServer) -> Iterator[Callable[[str], Kernel]]:
    """Notebooks of one test, closed with their kernels."""
    opened: list[Kernel] = []

    def page(path: str) -> Kernel:
        opened.append(Kernel(lab.url, TOKEN, path))
        return opened[-1]

    yield page
    for one in opened:
        os.kill(_pid(lab, one), signal.SIGKILL)  # a stopped or stubborn one would not end when it is asked to
        lab.http.delete(f"api/kernels/{one.kernel_id}")
        one.close()


def test_kernels_that_never_answer_are_left_behind_as_chosen_or_named(
    lab: LabServer, pages: Callable[[str], Kernel]
) -> None:
    stubborn, locked, silent, quiet = (
        pages(path) for path in ("stubborn.ipynb", "locked.ipynb", "silent.ipynb", "quiet.ipynb")
    )
    quiet.run("kept = 2")
    silent.run("v = 1")
    _run_for_ever(lab, stubborn, STUBBORN)
    _run_for_ever(lab, locked, HOLDS_THE_GIL)
    (lab.work_dir / "go").touch()
    left = _save(lab, "op-leave", "leave", LONG_S)
    at_work = {"stubborn.ipynb": "left", "locked.ipynb": "left"}
    assert _statuses(left) == {**at_work, "silent.ipynb": "saved", "quiet.ipynb": "saved"}
    os.kill(_pid(lab, silent), signal.SIGSTOP)
    interrupted = _save(lab, "op-interrupt", "interrupt", SECONDS)
    assert _statuses(interrupted) == {**at_work, "silent.ipynb": "left", "quiet.ipynb": "saved"}
    waited = _save(lab, "op-wait", "wait", 1.0)
    assert (waited.status_code, waited.json()["error"]["code"]) == (502, "save_failed")
    assert "stubborn.ipynb: a cell was still running" in waited.json()["error"]["message"]
    assert not (lab.state_dir / "op-wait").exists(), "what failed keeps no room"


def test_a_kernel_that_is_killed_while_it_is_given_its_variables_is_given_them_again(
    control: FakeControl, tmp_path: Path
) -> None:
    folders = Folders.make(tmp_path / "mei")
    marks = folders.work / "marks"
    code = (
        "import os, time\n"
        "def slow(folder):\n"
        "    open(f'{folder}-{os.getpid()}', 'w').close()\n"
        "    while not os.path.exists(f'{folder}-go'):\n"
        "        time.sleep(0.02)\n"
        "class Slow:\n"
        f"    def __reduce__(self):\n        return slow, ({str(marks)!r},)\n"
        "s, v = Slow(), 7"
    )
    with LabServer(folders, control.url) as old:
        kernel = Kernel(old.url, TOKEN, "a.ipynb")
        kernel.run(code)
        kernel.close()
        old.http.post("gearshift/state/save", json={"operation": "op-killed"}).raise_for_status()
    with LabServer(folders, control.url, GEARSHIFT_RESTORE="op-killed") as new:
        first = until(lambda: _marked(folders.work), 60, "the load has begun")
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len(_marked(folders.work)) == 2, 60, "it is loaded again")
        late = new.http.post("gearshift/state/restore", json={"operation": "op-killed", "seconds": 0.2})
        assert (late.status_code, late.json()["error"]["code"]) == (502, "restore_failed")
        assert "a.ipynb: not there again within 0.2 s" in late.json()["error"]["message"]
        Path(f"{marks}-go").touch()
        report = new.http.post("gearshift/state/restore", json={"operation": "op-killed"}).json()
        assert report["ok"], report
        again = Kernel(new.url, TOKEN, "a.ipynb")
        assert again.run("print(v)").text == "7\n"
        again.close()


@pytest.mark.root
def test_a_full_and_a_read_only_disk_are_told_and_nothing_is_half_kept(
    control: FakeControl, tmp_path: Path, small_disk: SmallDisk
) -> None:
    folders = Folders.make(tmp_path / "mei")
    with LabServer(folders, control.url, GEARSHIFT_STATE_DIR=str(small_disk.path)) as lab:
        kernel = Kernel(lab.url, TOKEN, "big.ipynb")
        kernel.run("big = bytes(3 * 2**20)")
        for make, says in ((None, "full"), (small_disk.read_only, "read-only")):
            if make is not None:
                make()
            saved = _save(lab, f"op-{says}", "wait", LONG_S)
            assert (saved.status_code, saved.json()["error"]["code"]) == (502, "save_failed")
            assert says in saved.json()["error"]["message"].lower()
            assert not (small_disk.path / f"op-{says}").exists()
        small_disk.repair()
        assert _save(lab, "op-fine", "wait", LONG_S).json()["ok"]
        assert kernel.run("print(len(big))").text == "3145728\n"
        kernel.close()


def _marked(folder: Path) -> list[int]:
    return [int(one.name.rpartition("-")[2]) for one in folder.glob("marks-[0-9]*")]


def _save(lab: LabServer, operation: str, busy: str, seconds: float) -> httpx.Response:
    body = {"operation": operation, "busy": busy, "seconds": seconds}
    return lab.http.post("gearshift/state/save", json=body)


def _statuses(saved: httpx.Response) -> dict[str, str]:
    return {kernel["path"]: kernel["status"] for kernel in saved.json()["kernels"]}


def _pid(lab: LabServer, kernel: Kernel) -> int:
    """The process of a kernel: its command line names its connection file."""
    for pid in lab.kernel_pids():
        if kernel.kernel_id.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError(f"no process for {kernel.kernel_id}")


def _run_for_ever(lab: LabServer, kernel: Kernel, code: str) -> None:
    """Begin a cell that never ends; whoever waits for it is let go when its kernel is killed."""

    def run() -> None:
        with suppress(Exception):
            kernel.run(code)

    threading.Thread(target=run, daemon=True).start()
    path = f"api/kernels/{kernel.kernel_id}"
    until(lambda: lab.http.get(path).json()["execution_state"] == "busy", 60, "the cell runs")
