"""Jobs of the running product: they belong to the platform, not to the kernel, the workspace or control's process."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from gearshift.client import Client
from gearshift.kernel import Kernel
from gearshift.model.errors import GearshiftError
from gearshift.train.gang import doorbell
from gearshift_hub.backends.local.cgroups import Groups
from gearshift_hub.backends.local.processes import Trees
from gearshift_testing.driving import until
from gearshift_testing.running import Running

SPEND = [f"custom:gearshift:{word}" for word in ("read", "propose", "spend")]
CAPS = "--max-price 5 --max-cost 1"
ENDED = ("succeeded", "failed", "cancelled")


@dataclass
class Person:
    """Somebody with a workspace and a kernel in it that may spend."""

    running: Running
    name: str
    client: Client

    def kernel(self, notebook: str = "train.ipynb") -> Kernel:
        kernel = Kernel(self.running.server(self.name, "work"), self.running.sign_in(self.name), notebook)
        token = self.running.sign_in(self.name, SPEND)
        kernel.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {token!r}\n%load_ext gearshift")
        return kernel

    def until(self, job: str, ready: Callable[[dict[str, Any]], bool], seconds: float = 60) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while True:
            try:
                found = self.client.job(job)
                if ready(found):
                    return found
            except GearshiftError as error:
                if error.code not in ("control_unavailable", "unauthenticated"):
                    raise
                found = {"control": error.code}
            assert time.monotonic() < deadline, found
            time.sleep(0.1)


@pytest.fixture
def mona(running: Running) -> Iterator[Person]:
    client = Client(running.url, running.sign_in("mona"))
    assert (
        client.do("start", None, name="work", spec={"image": "pytorch", "machine": "cpu-small"}).error is None
    )
    yield Person(running, "mona", client)
    client.do("stop", None, workspace="mona/work")


def kill_control(running: Running) -> None:
    record = running.home.run / "control.pid.json"
    old = int(json.loads(record.read_text())["pid"])
    os.kill(old, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while int(json.loads(record.read_text())["pid"]) == old:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def left(job: str, running: Running) -> list[str]:
    """Processes that carry the job's mark, and those of the tree that it runs in."""
    mark = f"GS_JOB={job}\0".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes() + b"\0":
                    found.append(entry.name)
            except OSError:
                continue
    trees = [tree for tree in Trees(running.home).trees() if tree.labels.get("job") == job]
    return [*found, *(str(pid) for tree in trees for pid in tree.pids)]


def test_C37_a_job_outlives_its_kernel_and_control_and_is_found_again_with_its_whole_log(
    mona: Person, running: Running
) -> None:
    kernel = mona.kernel()
    source = f"""%%gearshift --nodes 2 --machine sim-1 --name long {CAPS}
import os, time
from gearshift import train
go = os.path.join(os.environ["HOME"], "go-on")
print("begun as", os.getuid(), flush=True)
step = 0
while not os.path.exists(go):
    step += 1
    train.log(step=step, loss=1 / step)
    time.sleep(0.05)
print("went on after", os.path.basename(go))
"""
    kernel.run(source)
    id = kernel.run("print(job.id)").text.strip()
    began = mona.until(id, lambda job: job["state"] == "running" and bool(job["metrics_last"]))
    if Groups("gearshift-looked-at").controls("memory"):
        used = mona.until(id, lambda job: bool(job["use"]) and job["use"]["cores"] is not None)["use"]
        assert 0 < used["memory_bytes"] < used["memory_has_bytes"]
        assert used["cores"] <= 1.5 * used["cores_has"]
    pid = int(kernel.run("print(os.getpid())").text)
    os.kill(pid, signal.SIGKILL)
    kernel.close()
    kill_control(running)
    step = began["metrics_last"]["step"]
    after = mona.until(id, lambda job: job["state"] == "running" and job["metrics_last"]["step"] > step)
    assert after["running_at"] == began["running_at"]
    fresh = mona.kernel("other.ipynb")
    fresh.run("open(os.path.expanduser('~/go-on'), 'w').close()")
    done = mona.until(id, lambda job: job["state"] in ENDED)
    assert (done["state"], done["reason"]) == ("succeeded", "succeeded"), done
    said = fresh.run(f"import gearshift\njob = gearshift.jobs()[0]\nprint(job.id == {id!r}, job.log(1))").text
    assert said.startswith("True begun as ")
    assert "went on after go-on" in said
    if os.geteuid() == 0:
        assert int(said.split()[3]) >= 20000
    assert left(id, running) == []
    fresh.run("os.unlink(os.path.expanduser('~/go-on'))")
    fresh.close()
    assert mona.client.verify_ledger()["ok"]


def test_cancelling_a_job_of_daemons_leaves_no_process_and_no_lease(mona: Person, running: Running) -> None:
    kernel = mona.kernel()
    kernel.run(f"""%%gearshift --nodes 2 --machine sim-1 --grace 1 {CAPS}
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
print("up", flush=True)
time.sleep(600)
""")
    id = kernel.run("print(job.id)").text.strip()
    mona.until(id, lambda job: job["state"] == "running" and "up" in mona.client.job_log(id, 1)["text"])
    assert len(left(id, running)) >= 4 or os.geteuid() != 0
    kernel.run(f"%gearshift cancel {id} {CAPS}")
    ended = mona.until(id, lambda job: job["state"] in ENDED)
    assert (ended["state"], ended["ended_by"]) == ("cancelled", "mona")
    assert left(id, running) == []
    free = {one["id"]: one["free"] for one in mona.client.catalog()["machines"]}
    assert free["sim-1"] == 4
    kernel.close()


def test_a_persons_next_job_finds_torch_imported_and_the_wait_for_it_is_free(
    mona: Person, running: Running
) -> None:
    kernel = mona.kernel()
    source = f"%%gearshift --nodes 2 --machine sim-1 {CAPS}\nimport os, sys\nprint(os.getuid(), 'torch' in sys.modules)"

    def run() -> tuple[str, str]:
        kernel.run(source)
        id = kernel.run("print(job.id)").text.strip()
        done = mona.until(id, lambda job: job["state"] in ENDED)
        assert done["state"] == "succeeded", done
        return id, mona.client.job_log(id, 1)["text"]

    def warmed() -> None:
        folder = running.home.jobs / "standby"
        until(
            lambda: any(doorbell.is_waited_at(one) for one in folder.glob("warm-*")), 60, "a standby is ready"
        )

    run()
    warmed()
    before = mona.client.verify_ledger()
    assert {one["id"]: one["free"] for one in mona.client.catalog()["machines"]}["sim-1"] == 4
    id, said = run()
    uid, imported = said.split()
    assert imported == "True"
    assert int(uid) >= 20000 or os.geteuid() != 0
    assert left(id, running) == []
    assert before["ok"]
    assert mona.client.verify_ledger()["ok"]
    warmed()
    record = running.home.run / "forkserver.pid.json"
    pid = json.loads(record.read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: json.loads(record.read_text())["pid"] != pid, 60, "the fork server is started again")
    assert run()[1].split()[1] == "True", "a standby outlives the fork server that started it"
    kernel.close()
