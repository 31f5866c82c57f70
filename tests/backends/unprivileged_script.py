"""Run without root: what a box of one person does and does not do. Prints a JSON object of what was seen."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gearshift_hub.backends.base import MemoryInUseError
from gearshift_hub.backends.local.limits import Limits
from gearshift_hub.backends.local.processes import StartRefused
from gearshift_testing.box import TestBox, running_box, wait_until

DAEMONS = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def daemon(run):
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    run()
def nameless(): os.execve('/bin/sleep', ['sleep', '600'], {})
def chain():
    while True:
        time.sleep(0.001)
        if os.fork(): os._exit(0)
for run in (lambda: time.sleep(600), nameless, *[chain] * (len(sys.argv) < 2)): daemon(run)
len(sys.argv) < 2 and subprocess.Popen(['sleep', '600'], env={}, start_new_session=True)
print('up', flush=True); time.sleep(600)
"""


def server_life(box: TestBox) -> dict[str, Any]:
    person = box.person("ann")
    server = box.start_server(person, "own-token")
    kernel = server.request("POST", "api/kernels", {"name": "python3"})
    usage = box.trees.usage(server.handle.tree)
    runtime = Path(box.trees.runtime_dir(server.plan))
    seen = {
        "answered_after": server.answered_after,
        "kernel": bool(kernel["id"]),
        "frozen": box.trees.freeze(server.handle.tree),
        "memory_bytes": usage.memory_bytes,
        "cpu_seconds": usage.cpu_seconds,
        "runtime_mode": oct(runtime.stat().st_mode & 0o777),
        "listed": [tree.labels for tree in box.trees.trees()],
    }
    box.trees.stop(server.handle.tree, 5.0)
    return seen | {"exit_code": box.trees.exit_code(server.handle.tree), "runtime_left": runtime.exists()}


def daemons(box: TestBox) -> dict[str, Any]:
    before, slowest = _mine(), 0.0
    for _ in range(5):
        handle, log = box.run(box.person("ann"), DAEMONS)
        wait_until(lambda log=log: "up" in log.read_text(), "the daemons run")  # type: ignore[misc]
        began = time.monotonic()
        box.trees.stop(handle.tree, 0.05)
        slowest = max(slowest, time.monotonic() - began)
    return {"left": len(_mine() - before), "slowest": slowest}


LARGE = DAEMONS.replace("time.sleep(600), nameless", "large(), nameless").replace(
    "def nameless",
    """
def large():
    held = bytearray(b'1') * (500 << 20)
    print('large', flush=True); time.sleep(600)
def nameless""",
)


def orphans_of_a_killed_keeper(box: TestBox) -> dict[str, Any]:
    before = _mine()
    handle, log = box.run(box.person("ann"), LARGE, "without a chain")
    wait_until(lambda: {"up", "large"} <= set(log.read_text().split()), "the daemons run")
    record = box.inside.records.get(handle.tree)
    assert record is not None
    os.kill(record.keeper, signal.SIGKILL)
    box.trees.stop(handle.tree, 0.05)
    left = len(_mine() - before)
    for pid in _mine() - before:
        os.kill(pid, signal.SIGKILL)
    return {"left": left, "ended": box.inside.records.ended(handle.tree)}


def limits(box: TestBox) -> dict[str, Any]:
    ann = box.person("ann")
    code = "try: bytearray(1 << 30)\nexcept MemoryError: print('refused')"
    memory = box.finish(ann, code, limits=Limits(memory_bytes=256 << 20)).strip()
    cores = "import os; print(len(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])"
    first, log = box.run(ann, "import os, time; print(os.sched_getaffinity(0), flush=True); time.sleep(600)",
                         limits=Limits(cpus=1))  # fmt: skip
    wait_until(lambda: bool(log.read_text()), "it runs")
    second = box.finish(ann, "import os; print(os.sched_getaffinity(0))", limits=Limits(cpus=1))
    seen = {"memory": memory, "cores": box.finish(ann, cores, limits=Limits(cpus=1)).split()}
    seen["different"] = log.read_text() != second or os.cpu_count() == 1
    box.trees.kill(first.tree)
    return seen


HOLD = """
import os, resource, sys, time
held = bytearray(96 << 20)
def say(): print(len(os.sched_getaffinity(0)), resource.getrlimit(resource.RLIMIT_DATA)[0] >> 20, flush=True)
say()
while not os.path.exists(sys.argv[1]): time.sleep(0.02)
say()
time.sleep(600)
"""


def resizing(box: TestBox) -> dict[str, Any]:
    """Without groups: cores and what may be allocated change in a process that runs."""
    ann = box.person("ann")
    sign = Path(ann.home) / "changed"
    handle, log = box.run(ann, HOLD, str(sign), limits=Limits(cpus=1, memory_bytes=256 << 20))
    wait_until(lambda: len(log.read_text().splitlines()) == 1, "it runs")
    box.trees.resize(handle.tree, Limits(cpus=64, memory_bytes=512 << 20))
    sign.touch()
    wait_until(lambda: len(log.read_text().splitlines()) == 2, "it saw the change")
    seen: dict[str, Any] = {"lines": log.read_text().splitlines(), "all": len(os.sched_getaffinity(0))}
    try:
        box.trees.resize(handle.tree, Limits(cpus=1, memory_bytes=64 << 20))
    except MemoryInUseError as refused:
        seen["in_use"] = refused.in_use_bytes
    seen["alive"] = box.trees.alive(handle.tree)
    box.trees.kill(handle.tree)
    return seen


def crash(box: TestBox) -> dict[str, Any]:
    handle, _ = box.run(box.person("ann"), "import sys, time; time.sleep(0.5); sys.exit(9)")
    box.server.kill()
    wait_until(lambda: box.trees.exit_code(handle.tree) == 9, "the exit code is known")
    box.server.start()
    return {"started_again": box.finish(box.person("ann"), "print('hello')").strip()}


def refusal(box: TestBox) -> dict[str, Any]:
    other = box.person("ann").model_copy(update={"uid": os.getuid() + 1})
    try:
        box.run(other, "pass", cwd="/")
    except StartRefused as refused:
        return {"text": str(refused)}
    return {"text": ""}


def _mine() -> set[int]:
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                status = (Path("/proc") / name / "status").read_text()
            except OSError:
                continue
            if f"Uid:\t{os.getuid()}\t" in status and "State:\tZ" not in status:
                found.add(int(name))
    return found


def _told(pid: int) -> str:
    try:
        stat = (Path("/proc") / str(pid) / "stat").read_text().split()
        command = (Path("/proc") / str(pid) / "cmdline").read_text().split("\0")
    except OSError:
        return f"{pid} gone meanwhile"
    return " ".join([*stat[:6], "start", stat[21], *command])[:300]


PARTS: tuple[Callable[[TestBox], dict[str, Any]], ...] = (
    server_life, daemons, orphans_of_a_killed_keeper, limits, resizing, crash, refusal,
)  # fmt: skip


def main() -> None:
    before = _mine()
    with running_box() as box:
        seen: dict[str, Any] = {part.__name__: part(box) for part in PARTS}
        box.run(box.person("ann"), DAEMONS)
    seen["left_at_the_end"] = [_told(pid) for pid in _mine() - before]
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    main()
