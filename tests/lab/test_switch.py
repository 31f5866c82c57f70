"""Kernels across a change of server: variables, ids, sessions, websockets, busy kernels, requests that come too early."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gearshift.kernel import Kernel
from gearshift_testing.lab_server import TOKEN, FakeControl, Folders, LabServer

_opened: list[Kernel] = []


def page(url: str, token: str, path: str) -> Kernel:
    _opened.append(Kernel(url, token, path))
    return _opened[-1]


@pytest.fixture(autouse=True)
def closed_pages() -> Iterator[None]:
    """Connections of a test end with it."""
    yield
    while _opened:
        _opened.pop().close()


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders.make(tmp_path / "mei")


def test_two_notebooks_go_on_with_their_variables_and_ids_on_a_new_server(
    control: FakeControl, folders: Folders
) -> None:
    with LabServer(folders, control.url) as old:
        first, second = (page(old.url, TOKEN, path) for path in ("a.ipynb", "sub b.ipynb"))
        first.run(
            "import numpy as np\nx = np.arange(4)\nview = x[1:]\ngen = (i for i in x)\ndef f():\n    return x.sum()"
        )
        second.run("word = 'kept'\n6 * 7")
        before = old.http.get("api/sessions").json()
        plan = old.http.post("gearshift/state/plan").json()
        saved = old.http.post("gearshift/state/save", json={"operation": "op-1"}).json()
    verdicts = {v["name"]: v["verdict"] for k in plan["kernels"] for v in k["variables"]}
    assert verdicts == {
        "np": "copy", "x": "copy", "view": "copy", "gen": "cannot_move", "f": "copy", "word": "copy",
    }  # fmt: skip
    assert saved["ok"]
    assert {k["path"] for k in saved["kernels"]} == {"a.ipynb", "sub b.ipynb"}

    with LabServer(folders, control.url, GEARSHIFT_RESTORE="op-1") as new:
        after = new.http.get("api/sessions").json()
        assert _ids(after) == _ids(before)
        report = new.http.post("gearshift/state/restore", json={"operation": "op-1"}).json()
        assert report["ok"]
        same = page(new.url, TOKEN, "a.ipynb")
        assert same.kernel_id == first.kernel_id
        assert same.run(
            "x[1] = 9; print(view[0], f(), word if 'word' in dir() else 'own', In[1][:6])"
        ).text == ("9 14 own import\n")
        other = page(new.url, TOKEN, "sub b.ipynb")
        assert other.run("print(word, Out[1])").text == "kept 42\n"
        assert other.run("1").execution_count == 3
        health = new.http.get("gearshift/health").json()
        assert health["ok"]
        assert health["restored_operation"] == "op-1"
        assert len(health["kernels"]) == 2
        both = new.http.get("gearshift/state/report", params={"operation": "op-1"}).json()
        assert both["saved"]["ok"]
        assert both["restored"]["ok"]


def test_a_page_that_asks_too_early_waits_for_the_restore(control: FakeControl, folders: Folders) -> None:
    with LabServer(folders, control.url) as old:
        kernel = page(old.url, TOKEN, "a.ipynb")
        kernel.run(
            "import time\nclass Slow:\n    def __reduce__(self):\n        return time.sleep, (2,)\nslow = Slow()\nv = 5"
        )
        old.http.post("gearshift/state/save", json={"operation": "op-2"}).raise_for_status()
    with LabServer(folders, control.url, GEARSHIFT_RESTORE="op-2") as new:
        assert new.http.get("gearshift/health").json()["restored_operation"] is None
        assert new.http.get("api/contents").status_code == 200
        assert [s["kernel"]["id"] for s in new.http.get("api/sessions").json()] == [kernel.kernel_id]
        assert new.http.get("gearshift/health").json()["restored_operation"] == "op-2"
        assert page(new.url, TOKEN, "a.ipynb").run("print(v)").text == "5\n"


def test_a_server_without_anything_saved_opens_and_says_so(control: FakeControl, folders: Folders) -> None:
    with LabServer(folders, control.url, GEARSHIFT_RESTORE="op-none") as new:
        assert new.http.get("api/sessions").json() == []
        answer = new.http.post("gearshift/state/restore", json={"operation": "op-none"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "restore_failed")


def test_a_kernels_file_that_was_changed_is_refused_and_the_kernel_starts_empty(
    control: FakeControl, folders: Folders
) -> None:
    with LabServer(folders, control.url) as old:
        kernel = page(old.url, TOKEN, "a.ipynb")
        kernel.run("v = 5")
        old.http.post("gearshift/state/save", json={"operation": "op-3"}).raise_for_status()
    file = folders.state / "op-3" / f"kernel-{kernel.kernel_id}.gsk"
    raw = bytearray(file.read_bytes())
    raw[5000] ^= 1
    file.write_bytes(bytes(raw))
    with LabServer(folders, control.url) as new:
        report = new.http.post("gearshift/state/restore", json={"operation": "op-3"}).json()
        assert not report["ok"]
        assert report["kernels"][0]["error"]["code"] == "refused"
        assert page(new.url, TOKEN, "a.ipynb").run("print('v' in dir())").text == "False\n"


def test_busy_kernels_wait_are_interrupted_or_left_as_chosen(lab: LabServer) -> None:
    kernel = page(lab.url, TOKEN, "busy.ipynb")
    try:
        kernel.run("import time\nkept = 1")
        with _running(lab, kernel, "time.sleep(600)"):
            left = _save(lab, "op-left", "leave").json()
            assert [k["status"] for k in left["kernels"] if k["path"] == "busy.ipynb"] == ["left"]
            waited = _save(lab, "op-wait", "wait", seconds=0.5)
            assert (waited.status_code, waited.json()["error"]["code"]) == (502, "save_failed")
            assert "busy.ipynb" in waited.json()["error"]["message"]
            assert lab.http.post("gearshift/state/plan").json()["kernels"][0]["busy"]
            stopped = _save(lab, "op-interrupt", "interrupt").json()
            assert stopped["ok"]
        with _running(lab, kernel, "time.sleep(1.5); late = 2"):
            done = _save(lab, "op-patient", "wait", seconds=30).json()
        assert "late" in [v["name"] for v in done["kernels"][0]["variables"]]
    finally:
        lab.http.delete(f"api/kernels/{kernel.kernel_id}")


def test_names_that_are_left_out_stay_behind(control: FakeControl, folders: Folders) -> None:
    with LabServer(folders, control.url) as old:
        page(old.url, TOKEN, "a.ipynb").run("big = [1] * 10\nsmall = 2")
        saved = old.http.post("gearshift/state/save", json={"operation": "op-4", "leave_out": ["big"]}).json()
        old.end()
    assert {v["name"]: v["verdict"] for v in saved["kernels"][0]["variables"]} == {
        "big": "left_out",
        "small": "copy",
    }
    with LabServer(folders, control.url) as new:
        new.http.post("gearshift/state/restore", json={"operation": "op-4"}).raise_for_status()
        assert page(new.url, TOKEN, "a.ipynb").run("print(small, 'big' in dir())").text == "2 False\n"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"operation": "../op"}, "operation"),
        ({"operation": "a/b"}, "operation"),
        ({"operation": ""}, "operation"),
        ({"operation": 5}, "operation"),
        ({}, "operation"),
        ({"operation": "op", "busy": "kill"}, "busy"),
        ({"operation": "op", "leave_out": "x"}, "leave_out"),
        ({"operation": "op", "seconds": -1}, "seconds"),
    ],
)
def test_c53_a_bad_request_is_refused_whole_with_its_field(
    lab: LabServer, body: dict[str, object], field: str
) -> None:
    answer = lab.http.post("gearshift/state/save", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field


def test_what_is_no_json_is_refused(lab: LabServer) -> None:
    for raw in (b"{", b"[1]", b"\xff"):
        answer = lab.http.post("gearshift/state/save", content=raw)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_request")


def test_c25_metrics_say_in_words_that_there_is_no_gpu_and_still_show_the_rest(lab: LabServer) -> None:
    lab.http.get("gearshift/metrics")
    said = lab.http.get("gearshift/metrics").json()
    assert said["gpus"] is None
    assert said["reason"] == "No GPU on this machine"
    assert said["memory_bytes"] > 0
    assert said["cpus"] > 0
    assert said["cpu_percent"] is not None
    assert said["memory_limit_bytes"] is None, "unknown here, and said to be so"
    assert said["memory_warn_share"] == 0.85
    assert "Traceback" not in lab.log()


def _ids(sessions: list[dict]) -> set[tuple[str, str, str]]:
    return {(s["id"], s["path"], s["kernel"]["id"]) for s in sessions}


def _save(lab: LabServer, operation: str, busy: str, seconds: float = 20) -> httpx.Response:
    body = {"operation": operation, "busy": busy, "seconds": seconds}
    return lab.http.post("gearshift/state/save", json=body)


class _running:
    """A cell that is running while the block runs."""

    def __init__(self, lab: LabServer, kernel: Kernel, code: str) -> None:
        self._lab, self._kernel = lab, kernel
        self._thread = threading.Thread(target=self._run, args=(code,))

    def __enter__(self) -> None:
        self._thread.start()
        deadline = time.monotonic() + 60
        path = f"api/kernels/{self._kernel.kernel_id}"
        while self._lab.http.get(path).json()["execution_state"] != "busy":
            assert time.monotonic() < deadline

    def __exit__(self, *error: object) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self, code: str) -> None:
        try:
            self._kernel.run(code)
        except Exception as error:
            assert "KeyboardInterrupt" in str(error)  # noqa: PT017 - in a thread of the test


def test_a_kernel_that_dies_while_it_is_saved_is_told_at_once_and_hinders_nobody(lab: LabServer) -> None:
    kernel, other = page(lab.url, TOKEN, "dies.ipynb"), page(lab.url, TOKEN, "lives.ipynb")
    try:
        kernel.run(
            "import os\nclass Dies:\n    def __reduce__(self):\n        os.kill(os.getpid(), 9)\nd = Dies()"
        )
        other.run("v = 1")
        started = time.monotonic()
        saved = _save(lab, "op-dies", "wait", seconds=60).json()
        assert time.monotonic() - started < 50  # not after the 60 s that a living kernel has
        assert {k["path"]: k["status"] for k in saved["kernels"]} == {
            "dies.ipynb": "dead",
            "lives.ipynb": "saved",
        }
    finally:
        for one in (kernel, other):
            lab.http.delete(f"api/kernels/{one.kernel_id}")


def test_a_notebook_that_hides_builtins_is_saved_all_the_same(lab: LabServer) -> None:
    kernel = page(lab.url, TOKEN, "hides.ipynb")
    try:
        kernel.run("globals = dict = list = type = isinstance = len = repr = None\njson = os = pickle = 5")
        saved = _save(lab, "op-hides", "wait").json()
        assert saved["ok"]
        assert saved["kernels"][0]["moved"] == 10
    finally:
        lab.http.delete(f"api/kernels/{kernel.kernel_id}")


def test_who_asks_for_a_save_and_goes_away_is_not_waited_for(lab: LabServer, tmp_path: Path) -> None:
    kernel = page(lab.url, TOKEN, "gone.ipynb")
    try:
        kernel.run("import time, os\nv = 1")
        with _running(lab, kernel, f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)"):
            body = {"operation": "op-gone", "busy": "wait"}
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{lab.url}gearshift/state/save", json=body, headers=lab.http.headers, timeout=0.5)
            (tmp_path / "go").touch()
        saved = _save(lab, "op-after", "wait").json()
        assert saved["ok"]
        report = lab.http.get("gearshift/state/report", params={"operation": "op-gone"})
        assert (report.status_code, report.json()["error"]["code"]) == (404, "not_found")
    finally:
        lab.http.delete(f"api/kernels/{kernel.kernel_id}")


def test_two_plans_at_once_do_not_take_each_other_for_a_running_cell(lab: LabServer) -> None:
    kernel = page(lab.url, TOKEN, "twice.ipynb")
    try:
        kernel.run("held = [object() for _ in range(200_000)]")
        found: list[dict] = []
        asking = [
            threading.Thread(target=lambda: found.append(lab.http.post("gearshift/state/plan").json()))
            for _ in range(4)
        ]
        for one in asking:
            one.start()
        for one in asking:
            one.join(60)
        assert len(found) == 4
        kernels = [k for plan in found for k in plan["kernels"] if k["kernel_id"] == kernel.kernel_id]
        assert [(k["busy"], k["error"]) for k in kernels] == [(False, None)] * 4
        assert len({k["executions"] for k in kernels}) == 1, "our questions are no runs"
        kernel.run("1")
        again = lab.http.post("gearshift/state/plan").json()["kernels"]
        assert [k["executions"] for k in again if k["kernel_id"] == kernel.kernel_id] != [
            kernels[0]["executions"]
        ]
    finally:
        lab.http.delete(f"api/kernels/{kernel.kernel_id}")


def test_a_plan_says_what_is_in_use_and_probes_the_disk_only_when_asked_and_only_when_it_matters(
    lab: LabServer,
) -> None:
    kernel = page(lab.url, TOKEN, "probe.ipynb")
    try:
        kernel.run("small = 1")
        assert lab.http.post("gearshift/state/plan", json={"probe": True}).json()["disk"] is None
        kernel.run("large = bytearray(70 << 20)")
        said = lab.http.post("gearshift/state/plan").json()
        assert said["disk"] is None
        assert said["memory"]["ram_bytes"] > 70 << 20
        assert said["memory"]["device_bytes"] == 0
        disk = lab.http.post("gearshift/state/plan", json={"probe": True}).json()["disk"]
        assert disk["save"] > 0
        assert disk["restore"] > 0
        refused = lab.http.post("gearshift/state/plan", json={"probe": "yes"})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "probe")
    finally:
        lab.http.delete(f"api/kernels/{kernel.kernel_id}")


def test_cells_run_again_on_the_new_machine_only_for_the_names_that_were_agreed_to(
    control: FakeControl, folders: Folders
) -> None:
    worker = "class Worker:\n    def __reduce__(self):\n        raise TypeError('stays')\n"
    with LabServer(folders, control.url) as old:
        kernel = page(old.url, TOKEN, "a.ipynb")
        kernel.run(f"{worker}one = Worker()")
        kernel.run(f"{worker}other = Worker()")
        body = {"operation": "op-again", "rerun": {kernel.kernel_id: ["one"]}}
        old.http.post("gearshift/state/save", json=body).raise_for_status()
        bad = old.http.post("gearshift/state/save", json={"operation": "op", "rerun": "one"})
        assert (bad.status_code, bad.json()["error"]["field"]) == (422, "rerun")
    with LabServer(folders, control.url) as new:
        report = new.http.post("gearshift/state/restore", json={"operation": "op-again"}).json()
        outcomes = {v["name"]: v["outcome"] for v in report["kernels"][0]["variables"]}
        assert (outcomes["one"], outcomes["other"]) == ("rebuilt", "lost")
        assert page(new.url, TOKEN, "a.ipynb").run("print('one' in dir(), 'other' in dir())").text == (
            "True False\n"
        )
