"""What the box says it can do agrees with what it does; pools, cards, names and owner rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from gearshift_hub import data
from gearshift_hub.backends.local import capabilities, firewall, inventory, names
from gearshift_hub.backends.local.cards import Card, Cards, read_cards
from gearshift_hub.backends.local.cgroups import Hierarchies
from gearshift_hub.deployment import load

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: uids, cgroups, firewall")


@pytest.fixture(scope="module")
def found() -> capabilities.Capabilities:
    return capabilities.probe()


def test_each_missing_capability_has_a_reason_and_no_other_has(found: capabilities.Capabilities) -> None:
    answers = {name: getattr(found, name) for name in found.__dataclass_fields__ if name != "reasons"}
    assert {name for name, can in answers.items() if not can} == set(found.reasons)
    assert all(found.reasons.values())
    assert found.root == (os.geteuid() == 0)


def test_what_is_not_enforced_is_said_in_sentences(found: capabilities.Capabilities) -> None:
    missing = {"freeze": "no v2 tree", "cgroup_memory": "no controller"}
    without = capabilities.Capabilities(
        **{name: name not in missing for name in found.__dataclass_fields__ if name != "reasons"},
        reasons=missing,
    )
    said = without.not_enforced()
    assert len(said) == 2
    assert any("memory limit holds for each process" in text and "no controller" in text for text in said)


@pytest.mark.root
@root
def test_probing_leaves_no_group_behind(found: capabilities.Capabilities) -> None:
    for place in Hierarchies.of_this_box().roots():
        assert not list(place.glob(f"gearshift-probe-{os.getpid()}*"))


@pytest.mark.root
@root
def test_nobody_is_told_that_everything_needs_root() -> None:
    code = "import dataclasses, json; from gearshift_hub.backends.local.capabilities import probe; "
    code += "print(json.dumps(dataclasses.asdict(probe())))"
    command = [
        "setpriv",
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        sys.executable,
        "-c",
        code,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30, cwd="/")
    said = json.loads(done.stdout)
    assert said.pop("reasons").keys() >= {
        "root",
        "uid_per_person",
        "cgroup_memory",
        "freeze",
        "mount_namespace",
    }
    assert not any(said[name] for name in ("root", "uid_per_person", "cgroup_memory", "freeze"))


@root
def test_without_iptables_the_box_says_so_and_takes_no_port_for_closed(tmp_path: Path) -> None:
    probe = [sys.executable, "-m", "gearshift_hub.backends.local.probes", "owner_rule"]
    done = subprocess.run(probe, capture_output=True, text=True, env={"PATH": str(tmp_path)}, check=False)
    assert (done.returncode, done.stdout.strip()) == (1, "iptables is not installed")


@pytest.mark.root
@root
def test_a_port_is_closed_to_every_uid_but_its_owners(found: capabilities.Capabilities) -> None:
    if not found.owner_firewall:
        with pytest.raises(firewall.FirewallUnusable):
            firewall.close_ports(28001, [9])
        return
    script = Path(__file__).with_name("owner_rule_script.py")
    command = ["unshare", "--net", sys.executable, str(script)]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment, cwd="/", check=False
    )
    assert done.returncode == 0, done.stderr
    closed, opened, job = json.loads(done.stdout)
    assert closed == {"28001": "open", "28002": "refused", "0": "refused"}
    assert opened == {"28001": "open", "28002": "open", "0": "open"}
    assert job == {"owner": "open", "other": "refused", "left": "nothing"}


def test_without_root_a_port_is_not_taken_for_closed() -> None:
    person = ["setpriv", "--reuid", "28001", "--clear-groups"] if os.geteuid() == 0 else []
    code = "from gearshift_hub.backends.local import firewall; firewall.close_ports(28001, [9])"
    done = subprocess.run([*person, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith(f"{firewall.__name__}.FirewallUnusable: ")


class DriverError(Exception):
    """What NVML raises."""


class Driver:
    """A driver with two cards that fails at the named counters."""

    NVMLError = DriverError

    def __init__(self, *fails: str) -> None:
        self._fails = fails
        self.open = 0

    def nvmlInit(self) -> None:
        self._answer("init", None)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return self._answer("count", 2)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return self._answer(f"card {index}", index)

    def nvmlSystemGetDriverVersion(self) -> str:
        return self._answer("driver", "580.65.06")

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return self._answer("uuid", f"GPU-{handle}")

    def nvmlDeviceGetName(self, handle: int) -> str:
        return self._answer("model", "H200")

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:
        return self._answer("memory", SimpleNamespace(total=150 << 30, used=1 << 30))

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:
        return self._answer("busy", SimpleNamespace(gpu=40))

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:
        return self._answer("temperature", 31)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        return self._answer("power", 77_500)

    def _answer(self, stage: str, value):  # type: ignore[no-untyped-def]
        if stage in self._fails:
            raise DriverError("Not Supported")
        return value


def test_c25_a_box_without_cards_is_normal_and_has_a_reason() -> None:
    told = read_cards(Driver("init"))
    assert told.found == ()
    assert told.reason == "No NVIDIA driver on this box (Not Supported)"
    here = read_cards()
    assert here.found or here.reason


@pytest.mark.parametrize("counter", ["uuid", "model", "busy", "temperature", "power"])
def test_c25_a_counter_that_is_not_supported_takes_no_other_with_it(counter: str) -> None:
    driver = Driver(counter)
    told = read_cards(driver)
    assert len(told.found) == 2
    assert driver.open == 0
    values = {
        "uuid": told.found[0].uuid, "model": told.found[0].model, "busy": told.found[0].busy_percent,
        "temperature": told.found[0].temperature_celsius, "power": told.found[0].power_watts,
    }  # fmt: skip
    assert values.pop(counter) is None
    assert None not in values.values()
    assert told.found[0].unknown == {counter: "Not Supported"}


def test_the_driver_of_the_cards_is_told_where_it_says() -> None:
    assert read_cards(Driver()).driver == "580.65.06"
    silent = read_cards(Driver("driver"))
    assert (silent.driver, len(silent.found)) == (None, 2)


def test_c25_a_card_that_fell_off_the_bus_leaves_the_others() -> None:
    told = read_cards(Driver("card 1"))
    assert [card.uuid for card in told.found] == ["GPU-0", None]
    assert told.found[1].unknown == {"card": "Not Supported"}
    assert read_cards(Driver("count")).reason == "The NVIDIA driver does not answer (Not Supported)"


CARDS = Cards((Card(0, "GPU-0", "A", 48 << 30), Card(1), Card(2, "GPU-2", "A", 48 << 30)))


def test_cards_are_added_to_a_pool_of_real_chips_and_never_to_simulated_ones() -> None:
    single = load(data.path("deployments/single-gpu-box.toml"))
    pool = inventory.pools(single, CARDS)[0]
    assert [(device.id, device.uuid, device.simulated) for device in pool.devices] == [
        ("nvidia0", "GPU-0", False),
        ("nvidia2", "GPU-2", False),
    ]
    embedded = load(data.path("gearshift.toml"))
    devices = inventory.pools(embedded, CARDS)[0].devices
    assert [device.id for device in devices] == ["d0", "d1", "d2", "d3"]
    assert all(device.simulated and device.uuid is None for device in devices)


def test_auto_is_what_the_box_has_with_something_left_for_itself() -> None:
    embedded = load(data.path("gearshift.toml"))
    pool = inventory.pools(embedded, Cards())[0]
    assert pool.cores_milli == 4 * 1000 * len(os.sched_getaffinity(0))
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert total * 0.85 <= pool.memory_bytes < total


@pytest.mark.parametrize(("file", "text"), [("memory.max", "1073741824"), ("memory.max", "max")])
def test_auto_in_a_container_is_the_containers_limit(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    limited = inventory.box_memory_bytes(tmp_path)
    assert (limited <= 1 << 30) == (text != "max")


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    (tmp_path / "system").write_text("root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/bin/false\n")
    return tmp_path


def _account(login: str, uid: int, title: str = "") -> names.Account:
    return names.Account(login, title, uid, uid, f"/homes/{login}")


def test_names_are_added_replaced_and_never_doubled(accounts: Path) -> None:
    for account in (_account("ann", 20001), _account("bo", 20002), _account("ann", 20001, "Ann B")):
        names.write_accounts(accounts, [account], [])
    assert (accounts / "passwd").read_text().splitlines() == [
        "bo:x:20002:20002:,,,:/homes/bo:/bin/bash",
        "ann:x:20001:20001:Ann B,,,:/homes/ann:/bin/bash",
    ]
    assert (accounts / "group").read_text().splitlines() == ["bo:x:20002:", "ann:x:20001:"]


def test_a_private_file_begins_with_the_boxs_own_accounts(accounts: Path) -> None:
    for account in (_account("ann", 20001), _account("bo", 20002)):
        names.write_accounts(accounts, [account], [accounts / "system", accounts / "system"])
    assert [line.split(":")[0] for line in (accounts / "passwd").read_text().splitlines()] == [
        "root", "daemon", "ann", "bo",
    ]  # fmt: skip


def test_a_title_cannot_add_a_field_or_a_line() -> None:
    line = _account("ann", 20001, "A:0:0\nroot::0:0").passwd()
    assert line.count(":") == 6
    assert "\n" not in line


@pytest.mark.parametrize(
    ("slug", "login"), [("ann", "ann"), ("daemon", "u20001"), ("root", "u20001"), ("x" * 33, "u20001")]
)
def test_a_login_is_the_slug_unless_somebody_else_has_it(accounts: Path, slug: str, login: str) -> None:
    assert names.login(slug, 20001, [accounts / "system"]) == login


def test_extrausers_counts_only_where_the_box_asks_it(tmp_path: Path) -> None:
    switch = tmp_path / "nsswitch.conf"
    switch.write_text("passwd: files systemd\n")
    assert not names.extrausers_is_on(switch, tmp_path)
    switch.write_text("passwd: files extrausers systemd\n")
    assert names.extrausers_is_on(switch, tmp_path)
    assert not names.extrausers_is_on(switch, tmp_path / "missing")
