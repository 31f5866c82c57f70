"""`gearshift up` with something wrong: one clear sentence, exit status 2, nothing started and nothing left."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gearshift_hub.paths import Home
from gearshift_testing.running import DEPLOYMENT, new_home


@pytest.fixture
def home() -> Iterator[Home]:
    made = new_home()
    yield made
    subprocess.run(["rm", "-rf", str(made.root), str(made.runtime)], check=True)


def up(home: Home, *extra: str, deployment: Path = DEPLOYMENT) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-P", "-m", "gearshift_hub.supervisor", "--home", str(home.root)]
    argv += ["--deployment", str(deployment), *extra]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


def refused(answer: subprocess.CompletedProcess[str]) -> str:
    """The one sentence that was said."""
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr
    assert answer.stderr.startswith("gearshift: ")
    return answer.stderr


def test_a_busy_port_is_named_with_its_holder_and_a_way_on(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(up(home, "--port", str(port)))
    assert f"Port {port} on 127.0.0.1 is in use by" in said
    assert f"process {os.getpid()}" in said
    assert "--port" in said
    assert not list(home.run.glob("*.pid.json"))


def test_a_typo_in_the_deployment_file_is_named_by_its_key(home: Home) -> None:
    bad = home.root / "bad.toml"
    bad.write_text(DEPLOYMENT.read_text() + "\n[deadlins]\nstart = 3\n")
    said = refused(up(home, deployment=bad))
    assert "deadlins" in said


def test_a_deployment_file_that_is_not_there_is_refused(home: Home) -> None:
    said = refused(up(home, deployment=home.root / "nothing.toml"))
    assert "nothing.toml" in said


def test_a_folder_that_is_a_file_is_refused(home: Home) -> None:
    file = home.root / "file"
    file.touch()
    said = refused(up(Home(file)))
    assert "is not a folder" in said


@pytest.mark.root
def test_a_folder_that_other_users_cannot_enter_is_refused_for_root(home: Home) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root starts workspaces as others")
    closed = home.root / "closed"
    closed.mkdir(mode=0o700)
    said = refused(up(Home(closed / "home")))
    assert f"cannot enter {closed}" in said


def test_a_folder_whose_path_is_too_long_for_sockets_is_refused(home: Home) -> None:
    said = refused(up(Home(home.root / ("long" * 25))))
    assert "too long" in said


def test_a_second_supervisor_of_the_same_folder_is_refused(home: Home) -> None:
    home.create()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home.root)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        said = refused(up(home))
    finally:
        holder.communicate("\n")
    assert f"Gearshift already runs in {home.root} (process {holder.pid})" in said


HOLD = """
import sys
from pathlib import Path
from gearshift_hub.paths import Home
from gearshift_hub.supervisor import records
file = records.lock(Home(Path(sys.argv[1])))
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def mounted(home: Home) -> Iterator[Path]:
    """A mount point whose options the test chooses by remounting."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    point = home.root / "mount"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0755", "tmpfs", str(point)], check=True)
    yield point
    subprocess.run(["umount", str(point)], check=True)


@pytest.mark.root
def test_a_full_disk_is_told_with_what_is_needed(mounted: Path) -> None:
    said = refused(up(Home(mounted / "home")))
    assert "at least 200 MB are needed" in said


@pytest.mark.root
def test_a_read_only_folder_is_told_with_a_way_on(mounted: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    said = refused(up(Home(mounted / "home")))
    assert "read-only file system" in said
    assert "--home" in said
