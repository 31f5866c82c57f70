"""Knows how the demo starts a deployment of its own: `gearshift up` in a fresh folder, ended and removed afterwards."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gearshift import signin

READY = "Ctrl-C stops everything"
START_S, STOP_S = 120.0, 90.0


@dataclass(frozen=True)
class Place:
    """A deployment and an account on it."""

    url: str
    name: str
    password: str = field(repr=False)


@contextmanager
def own_deployment() -> Iterator[Place]:
    """One that is up; its folder lies where other uids may enter, and is gone at the end."""
    home = Path(tempfile.mkdtemp(prefix="gearshift-demo-", dir="/var/tmp"))
    home.chmod(0o755)
    said = home.with_suffix(".out")
    command = [sys.executable, "-P", "-m", "gearshift_hub.supervisor", "--home", str(home), "--port", "0"]
    with said.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=_environment()
        )
    try:
        yield _first_sign_in(_wait_until_up(process, said))
    finally:
        _end(process)
        shutil.rmtree(home, ignore_errors=True)
        said.unlink(missing_ok=True)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GEARSHIFT_")}


def _wait_until_up(process: subprocess.Popen[bytes], said: Path) -> str:
    deadline = time.monotonic() + START_S
    while READY not in (text := said.read_text()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the deployment did not come up: {text.strip()}")
        time.sleep(0.05)
    return text


def _first_sign_in(said: str) -> Place:
    """Do what the printed lines say: open the address, type the one-time code, choose a password."""
    words = said.split()
    url = next(word for word in words if word.startswith("http"))
    code = said.split("one-time code ")[1].split(maxsplit=1)[0]
    password = secrets.token_urlsafe(16)
    signin.activate(url, "admin", code, password)
    return Place(url, "admin", password)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
