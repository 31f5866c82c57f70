"""Limits of a tree in force: memory, CPU, processes; what one tree does to itself it does to no other. As root."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from gearshift_hub.backends.base import MemoryInUseError
from gearshift_hub.backends.local.limits import Limits
from gearshift_testing.box import TestBox, wait_until

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root: uids and cgroups")]

MIB = 1 << 20

GROW = """
import mmap, os, sys, time
if len(sys.argv) > 1 and os.fork() == 0:      # the one that grows; what it maps is shared, so that RLIMIT_DATA is silent
    blocks = []
    while True:
        block = mmap.mmap(-1, 16 << 20)
        block.write(b'x' * (16 << 20))
        blocks.append(block)
print('up', flush=True)
time.sleep(600)
"""


def test_a_tree_over_its_memory_limit_loses_a_process_and_no_other_tree_does(box: TestBox) -> None:
    alice = box.person("alice")
    limits = Limits(memory_bytes=128 * MIB, pids=50)
    neighbour, neighbour_log = box.run(alice, GROW, limits=limits)
    glutton, log = box.run(alice, GROW, "grow", limits=limits)
    wait_until(lambda: "up" in neighbour_log.read_text() and "up" in log.read_text(), "both run")
    group = box.inside.groups
    wait_until(lambda: _oom_kills(box, glutton.tree) > 0, "the kernel has killed in the tree")
    assert _oom_kills(box, neighbour.tree) == 0
    assert box.trees.alive(neighbour.tree)
    peak = box.trees.usage(glutton.tree).peak_bytes
    assert peak is not None
    assert peak <= 128 * MIB
    for tree in (glutton.tree, neighbour.tree):
        box.trees.kill(tree)
        assert group.pids(tree) == []


def test_one_huge_allocation_is_an_exception_and_no_kill(box: TestBox) -> None:
    code = "try: bytearray(1 << 30)\nexcept MemoryError: print('refused')"
    limits = Limits(memory_bytes=256 * MIB)
    assert box.finish(box.person("alice"), code, limits=limits).strip() == "refused"


def test_two_burners_share_the_quota_of_their_tree(box: TestBox) -> None:
    code = "import os\nos.fork()\nwhile True: pass"
    handle, _ = box.run(box.person("alice"), code, limits=Limits(cpus=0.3))
    wait_until(lambda: (box.trees.usage(handle.tree).cpu_seconds or 0) > 0.1, "they burn")
    began, first = time.monotonic(), box.trees.usage(handle.tree).cpu_seconds
    time.sleep(1.0)
    second, took = box.trees.usage(handle.tree).cpu_seconds, time.monotonic() - began
    assert first is not None
    assert second is not None
    print(f"\n0.3 CPUs allowed, {(second - first) / took:.2f} used")
    assert (second - first) / took < 0.45
    box.trees.kill(handle.tree)


def test_a_running_tree_can_be_given_other_limits(box: TestBox) -> None:
    handle, log = box.run(
        box.person("alice"), "x = bytearray(64 << 20); print('up', flush=True); import time; time.sleep(600)",
        limits=Limits(memory_bytes=256 * MIB),
    )  # fmt: skip
    wait_until(lambda: "up" in log.read_text(), "it holds 64 MiB")
    box.trees.resize(handle.tree, Limits(memory_bytes=512 * MIB, cpus=0.5))
    box.trees.resize(handle.tree, Limits(memory_bytes=128 * MIB, cpus=1))
    with pytest.raises(MemoryInUseError) as refused:
        box.trees.resize(handle.tree, Limits(memory_bytes=32 * MIB))
    assert refused.value.limit_bytes == 32 * MIB
    assert 64 * MIB < (refused.value.in_use_bytes or 0) < 128 * MIB
    assert box.trees.alive(handle.tree)
    used = box.trees.usage(handle.tree)
    assert used.memory_bytes is not None
    assert 64 * MIB < used.memory_bytes < 128 * MIB
    box.trees.kill(handle.tree)


def test_a_chain_of_forks_ends_at_the_process_limit(box: TestBox) -> None:
    code = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0: time.sleep(600)
        made += 1
except OSError as error:
    print(made, type(error).__name__)
"""
    said = box.finish(box.person("alice"), code, limits=Limits(pids=20)).split()
    assert said == ["19", "BlockingIOError"]


def test_thread_pools_are_told_how_many_cores_there_are(box: TestBox) -> None:
    code = "import os; print(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])"
    alice = box.person("alice")
    assert box.finish(alice, code, limits=Limits(cpus=1.5)).strip() == "2 2"
    assert box.finish(alice, code, limits=Limits(cpus=1.5, threads=3)).strip() == "3 3"
    assert box.finish(alice, code, limits=Limits(cpus=2), env={"OMP_NUM_THREADS": "1"}).strip() == "1 2"


def test_the_kernel_dies_before_the_server_and_a_job_before_both(box: TestBox) -> None:
    alice = box.person("alice")
    server = box.start_server(alice, "oom")
    server.request("POST", "api/kernels", {"name": "python3"})
    pids = box.inside.groups.pids(server.handle.tree)
    scores = {pid: int(Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in pids}
    assert scores[server.handle.pid] == 0
    assert 300 in scores.values()
    assert box.finish(alice, "print(open('/proc/self/oom_score_adj').read())").strip() == "600"
    box.trees.stop(server.handle.tree, 3.0)


def test_devices_are_named_to_the_tree_and_no_others_are_visible(box: TestBox) -> None:
    code = "import json, os; print(json.dumps([os.environ.get('GEARSHIFT_DEVICES'), os.environ['CUDA_VISIBLE_DEVICES']]))"
    alice = box.person("alice")
    assert json.loads(box.finish(alice, code)) == [None, ""]
    assert json.loads(box.finish(alice, code, devices=["d0", "d2"])) == ["d0,d2", ""]


def test_a_killed_leader_is_reported_as_killed(box: TestBox) -> None:
    handle, _ = box.run(box.person("alice"), GROW)
    box.trees.kill(handle.tree)
    assert box.trees.exit_code(handle.tree) == -signal.SIGKILL


def _oom_kills(box: TestBox, tree: str) -> int:
    groups = box.inside.groups
    if "memory" in groups.where.v1:
        path = groups.where.v1["memory"] / groups.name / tree / "memory.oom_control"
    else:
        assert groups.where.unified is not None
        path = groups.where.unified / groups.name / tree / "memory.events"
    lines = dict(line.split() for line in path.read_text().splitlines())
    return int(lines["oom_kill"])
