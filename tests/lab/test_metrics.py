"""Use of the machine: control groups of both versions, cards with and without their counters, words where there are none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gearshift.lab import environment
from gearshift.lab.chips import NO_DRIVER, NONE, SIMULATED, chips
from gearshift.lab.control_group import own_group
from gearshift.lab.environment import LabEnvironment


def env(folder: Path, **given: str) -> LabEnvironment:
    return environment.read({"GEARSHIFT_STATE_DIR": str(folder / "state"), **given})


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_version_1_groups_are_read_by_controller(tmp_path: Path) -> None:
    write(
        tmp_path / "memory/gearshift-ab/ws-1",
        memory__usage_in_bytes="1000000\n",
        memory__limit_in_bytes="2147483648\n",
        memory__stat="cache 5\ntotal_inactive_file 400000\n",
    )
    write(
        tmp_path / "cpu,cpuacct/gearshift-ab/ws-1", cpu__cfs_quota_us="50000\n", cpu__cfs_period_us="100000\n"
    )
    write(tmp_path / "cpu,cpuacct/gearshift-ab/ws-1", cpuacct__usage="2500000000\n")
    listing = tmp_path / "cgroup"
    listing.write_text("4:memory:/gearshift-ab/ws-1\n3:cpu,cpuacct:/gearshift-ab/ws-1\n1:name=systemd:/x\n")
    group = own_group(listing, tmp_path)
    assert group is not None
    assert group.memory_bytes() == 600_000
    assert group.memory_limit_bytes() == 2 << 30
    assert (group.cpu_seconds(), group.cpus()) == (2.5, 0.5)


def test_version_2_groups_are_read_and_no_limit_is_unknown(tmp_path: Path) -> None:
    write(
        tmp_path / "gearshift-ab/ws-1",
        memory__current="500\n",
        memory__max="max\n",
        memory__stat="inactive_file 100\n",
        cpu__stat="usage_usec 1500000\n",
        cpu__max="150000 100000\n",
    )
    listing = tmp_path / "cgroup"
    listing.write_text("0::/gearshift-ab/ws-1\n")
    group = own_group(listing, tmp_path)
    assert group is not None
    assert (group.memory_bytes(), group.memory_limit_bytes()) == (400, None)
    assert (group.cpu_seconds(), group.cpus()) == (1.5, 1.5)


def test_a_group_of_somebody_else_is_not_ours(tmp_path: Path) -> None:
    listing = tmp_path / "cgroup"
    listing.write_text("0::/user.slice/session-1.scope\n")
    assert own_group(listing, tmp_path) is None
    assert own_group(tmp_path / "none", tmp_path) is None


class Nvml:
    """Two cards; a counter named in `broken` raises, as drivers do for what a card lacks."""

    def __init__(self, *broken: str) -> None:
        self._broken = broken

    def __getattr__(self, name: str) -> Any:
        values: dict[str, Any] = {
            "nvmlInit": None,
            "nvmlDeviceGetCount": 2,
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=5, total=10),
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=7),
            "nvmlDeviceGetName": b"Card",
            "nvmlDeviceGetTemperature": 40,
        }

        def call(*args: Any) -> Any:
            if name in self._broken:
                raise RuntimeError("Not Supported")
            if name == "nvmlDeviceGetHandleByIndex":
                return args[0]
            if name == "nvmlDeviceGetUUID":
                return f"GPU-{args[0]}"
            return values[name]

        return call


def test_c25_a_counter_that_a_card_lacks_is_null_and_the_others_show(tmp_path: Path) -> None:
    cards, reason = chips(env(tmp_path), Nvml("nvmlDeviceGetUtilizationRates"))
    assert reason is None
    assert cards is not None
    assert [(c["percent"], c["memory_bytes"], c["name"]) for c in cards] == [(None, 5, "Card")] * 2


def test_only_the_cards_of_the_lease_are_shown(tmp_path: Path) -> None:
    cards, _ = chips(env(tmp_path, CUDA_VISIBLE_DEVICES="GPU-1"), Nvml())
    assert cards is not None
    assert [c["index"] for c in cards] == [1]
    assert chips(env(tmp_path, CUDA_VISIBLE_DEVICES="GPU-9"), Nvml()) == (None, NONE)


@pytest.mark.parametrize(
    ("given", "broken", "words"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, (), NONE),
        ({"CUDA_VISIBLE_DEVICES": "", "GEARSHIFT_DEVICES": "d0"}, (), SIMULATED),
        ({}, ("nvmlInit",), NONE),
        ({"CUDA_VISIBLE_DEVICES": "0"}, ("nvmlInit",), NO_DRIVER),
    ],
)
def test_c25_why_there_is_no_card_is_said_in_words(
    tmp_path: Path, given: dict[str, str], broken: tuple[str, ...], words: Any
) -> None:
    assert chips(env(tmp_path, **given), Nvml(*broken)) == (None, words)


def test_secrets_of_the_environment_do_not_print(tmp_path: Path) -> None:
    found = env(tmp_path, JUPYTERHUB_API_TOKEN="secret-token", GEARSHIFT_STATE_KEY="ab" * 32)
    assert "secret-token" not in repr(found)
    assert "state_key" not in repr(found)
