"""What is written to which control group file, in both versions, and how the box's mounts are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from gearshift_hub.backends.local.cgroups import Groups, Hierarchies, v1_settings, v2_settings
from gearshift_hub.backends.local.limits import Limits, choose_cores
from hypothesis import given
from hypothesis import strategies as st

LIMITS = Limits(memory_bytes=2 << 30, cpus=1.5, pids=100, cores=(0, 3))

HYBRID = """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
PURE = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


def test_limits_in_words_of_version_1() -> None:
    assert v1_settings(LIMITS) == [
        ("memory", "memory.limit_in_bytes", "2147483648"),
        ("memory", "memory.memsw.limit_in_bytes", "2147483648"),
        ("cpu", "cpu.cfs_period_us", "100000"),
        ("cpu", "cpu.cfs_quota_us", "150000"),
        ("cpu", "cpu.shares", "1536"),
        ("cpuset", "cpuset.cpus", "0,3"),
        ("pids", "pids.max", "100"),
    ]


def test_limits_in_words_of_version_2() -> None:
    assert v2_settings(LIMITS) == [
        ("memory", "memory.max", "2147483648"),
        ("memory", "memory.swap.max", "0"),
        ("cpu", "cpu.max", "150000 100000"),
        ("cpu", "cpu.weight", "150"),
        ("cpuset", "cpuset.cpus", "0,3"),
        ("pids", "pids.max", "100"),
    ]


def test_no_limit_writes_nothing() -> None:
    assert v1_settings(Limits()) == v2_settings(Limits()) == []


def test_the_mounts_of_a_box_with_both_versions_are_found() -> None:
    found = Hierarchies.of_this_box(HYBRID)
    both = Path("/sys/fs/cgroup/cpu,cpuacct")
    assert found.v1 == {"cpu": both, "cpuacct": both, "memory": Path("/sys/fs/cgroup/memory")}
    assert found.unified == Path("/sys/fs/cgroup/unified")
    assert found.roots() == [both, Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/unified")]


def test_the_mount_of_a_box_with_version_2_alone_is_found() -> None:
    found = Hierarchies.of_this_box(PURE)
    assert found == Hierarchies({}, Path("/sys/fs/cgroup"))


def test_a_box_without_any_has_no_groups_and_says_so() -> None:
    groups = Groups("gearshift-0", Hierarchies())
    groups.create("ws-1", LIMITS)
    groups.join("ws-1")
    assert groups.pids("ws-1") == groups.names() == []
    assert not groups.kill("ws-1")
    assert not groups.freeze("ws-1")
    assert not groups.controls("memory")
    assert groups.remove("ws-1")


@pytest.fixture
def pure(tmp_path: Path) -> Path:
    """A folder that looks like a version 2 tree: controllers handed down already, the kernel's files in place."""
    root = tmp_path / "cgroup"
    group = root / "gearshift-0"
    tree = group / "ws-1"
    tree.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("\n")
    (root / "cgroup.subtree_control").write_text("")
    (group / "cgroup.subtree_control").write_text("cpu memory pids")
    for name in (
        "cgroup.freeze",
        "cgroup.procs",
        "cgroup.kill",
        *(name for _, name, _ in v2_settings(LIMITS)),
    ):
        (tree / name).write_text("")
    (tree / "cgroup.events").write_text("populated 1\nfrozen 1\n")
    (tree / "memory.current").write_text("900")
    (tree / "memory.peak").write_text("1000")
    (tree / "memory.stat").write_text("anon 500\ninactive_file 300\n")
    (tree / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    return root


def test_a_version_2_tree_gets_only_the_limits_whose_controllers_it_was_given(pure: Path) -> None:
    groups = Groups("gearshift-0", Hierarchies({}, pure))
    tree = pure / "gearshift-0" / "ws-1"
    groups.create("ws-1", LIMITS)
    assert (tree / "memory.max").read_text() == "2147483648"
    assert (tree / "cpu.max").read_text() == "150000 100000"
    assert (tree / "pids.max").read_text() == "100"
    assert (tree / "cpuset.cpus").read_text() == ""
    assert (tree / "cgroup.freeze").read_text() == "0"


def test_the_use_of_a_version_2_tree_leaves_out_cache_that_can_be_dropped(pure: Path) -> None:
    use = Groups("gearshift-0", Hierarchies({}, pure)).use("ws-1")
    assert (use.memory_bytes, use.peak_bytes, use.cpu_seconds) == (600, 1000, 2.5)


def test_freezing_waits_for_the_kernels_word_and_killing_writes_once(pure: Path) -> None:
    groups = Groups("gearshift-0", Hierarchies({}, pure))
    assert groups.freeze("ws-1")
    assert groups.frozen("ws-1")
    assert groups.kill("ws-1")
    assert (pure / "gearshift-0" / "ws-1" / "cgroup.kill").read_text() == "1"


@given(
    cpus=st.one_of(st.none(), st.floats(0.1, 200)),
    taken=st.lists(st.lists(st.integers(0, 300), max_size=3).map(tuple), max_size=8),
)
def test_cores_are_chosen_from_those_there_are_and_the_least_used_first(
    cpus: float | None, taken: list[tuple[int, ...]]
) -> None:
    available = (0, 1, 2, 5)
    chosen = choose_cores(cpus, taken, available)
    if cpus is None or cpus > 3:
        assert chosen == ()
        return
    use = {core: sum(core in cores for cores in taken) for core in available}
    assert len(chosen) == max(1, -(-cpus // 1))
    assert set(chosen) <= set(available)
    assert max(use[core] for core in chosen) <= min(
        (use[c] for c in available if c not in chosen), default=10**9
    )
