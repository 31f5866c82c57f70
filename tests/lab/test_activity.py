"""What a server says it is busy with: kernels, terminals with something in them, a person; and who may ask."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from gearshift.kernel import Kernel
from gearshift.lab import environment
from gearshift.lab.activity import ActivityReader
from gearshift.model.idle import Activity
from gearshift_testing.driving import until
from gearshift_testing.lab_server import TOKEN, LabServer


def activity(lab: LabServer) -> Activity:
    return Activity.model_validate(lab.http.get("gearshift/activity").raise_for_status().json())


def test_a_kernel_is_busy_while_its_cell_runs_and_its_end_is_known_afterwards(lab: LabServer) -> None:
    before = datetime.now(UTC)
    go_on = lab.work_dir / "activity-go"
    code = f"import pathlib, time\nwhile not pathlib.Path({str(go_on)!r}).exists():\n    time.sleep(0.05)"
    with closing(Kernel(lab.url, TOKEN, "activity.ipynb")) as kernel:
        cell = threading.Thread(target=kernel.run, args=(code,))
        cell.start()
        until(lambda: activity(lab).busy_kernels == 1, 60, "the kernel is busy")
        assert activity(lab).pages >= 1
        go_on.touch()
        cell.join(60)
        until(lambda: activity(lab).busy_kernels == 0, 60, "the kernel is idle")
        executed = activity(lab).executed_at
        assert executed is not None
        assert before <= executed <= datetime.now(UTC)
        kernel.http.delete(f"api/kernels/{kernel.kernel_id}")


def test_a_person_at_a_page_is_known_and_a_page_that_only_asks_is_not(lab: LabServer) -> None:
    with lab.browser() as page:
        page.get("gearshift/metrics").raise_for_status()
        told = activity(lab).used_at
        before = datetime.now(UTC)
        page.post("gearshift/used").raise_for_status()
        used = activity(lab).used_at
        assert used is not None
        assert used >= before
        assert told is None or told < before


def test_nobody_else_may_ask_or_pretend(lab: LabServer) -> None:
    for method, path in (("GET", "gearshift/activity"), ("POST", "gearshift/used")):
        assert httpx.request(method, lab.url + path, trust_env=False).status_code == 403
    with lab.browser() as page:
        del page.headers["X-XSRFToken"]
        assert page.post("gearshift/used").status_code == 403


def test_a_terminal_counts_while_something_runs_in_it(tmp_path: Path) -> None:
    with shell("exec cat") as waits, shell("sleep 1000 & wait") as works:
        read = reader(tmp_path, waits.pid)
        assert read()["terminals"] == 0
        read = reader(tmp_path, works.pid)
        until(lambda: read()["terminals"] == 1, 60, "the shell has a child")
    assert read()["terminals"] == 0


def test_what_is_not_known_is_null(tmp_path: Path) -> None:
    first = reader(tmp_path)()
    assert (first["cpu_share"], first["chip_share"], first["executed_at"], first["used_at"]) == (None,) * 4


@contextmanager
def shell(command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A shell in a session of its own, ended with all in it."""
    with subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield process
        finally:
            subprocess.run(["kill", "-KILL", "--", f"-{process.pid}"], check=True)


def reader(folder: Path, *shells: int) -> Callable[[], dict[str, Any]]:
    """What a server without kernels says that has these terminals."""
    terminals = {str(pid): SimpleNamespace(ptyproc=SimpleNamespace(pid=pid)) for pid in shells}
    server = SimpleNamespace(
        kernel_manager=SimpleNamespace(list_kernel_ids=list),
        web_app=SimpleNamespace(settings={"terminal_manager": SimpleNamespace(terminals=terminals)}),
    )
    env = environment.read({"GEARSHIFT_STATE_DIR": str(folder / "state"), "CUDA_VISIBLE_DEVICES": ""})
    return ActivityReader(server, env).read
