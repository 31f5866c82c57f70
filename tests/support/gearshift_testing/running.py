"""A real product for tests: `gearshift up` in a folder of its own, people who have signed in, and a clean end."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from gearshift import signin
from gearshift_hub.paths import Home

SUPERVISOR = "gearshift_hub.supervisor"
DEPLOYMENT = Path(__file__).with_name("deployment.toml")
PASSWORD = "correct horse battery staple"
ADMIN = "admin"
START_S = 90.0
STOP_S = 90.0


@dataclass
class Running:
    """One deployment that runs. `sign_in` gives tokens; browsers use the names and PASSWORD."""

    home: Home
    process: subprocess.Popen[bytes]
    output: Path
    _tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The public address, ending in a slash."""
        return self.home.ports().url

    @property
    def api(self) -> str:
        """Where control's REST is, through the proxy."""
        return f"{self.url}services/gearshift/api/v1"

    @property
    def admin(self) -> str:
        """The first admin's token."""
        return self.sign_in(ADMIN)

    def sign_in(self, user: str, scopes: Sequence[str] | None = None) -> str:
        """A personal token of this person, whose account is made when there is none."""
        if scopes is None and user in self._tokens:
            return self._tokens[user]
        self.account(user)
        token = signin.sign_in(self.url, user, PASSWORD, scopes)
        if scopes is None:
            self._tokens[user] = token
        return token

    def account(self, user: str) -> None:
        """Have an account with PASSWORD for this person."""
        if user in self._tokens:
            return
        known = self.internal("GET", "accounts")
        rows = known["accounts"] if isinstance(known, dict) else known
        if user not in {row["name"] for row in rows}:
            code = self.internal("POST", "accounts", {"name": user, "admin": False})["code"]
            signin.activate(self.url, user, code, PASSWORD)

    def invite(self, like: str) -> tuple[str, str]:
        """A new account whose name no other test has, and its one-time code."""
        name = f"{like}-{secrets.token_hex(3)}"
        return name, self.internal("POST", "accounts", {"name": name, "admin": False})["code"]

    def internal(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Control's internal socket."""
        transport = httpx.HTTPTransport(uds=str(self.home.control_socket))
        with httpx.Client(transport=transport, timeout=30) as client:
            answer = client.request(method, f"http://control/internal/{path}", json=body)
        answer.raise_for_status()
        return answer.json() if answer.content else {}

    def hub(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """The hub's API as control calls it."""
        headers = {"Authorization": f"token {self.home.secrets().control_hub_token}"}
        url = f"{self.home.ports().hub_api}/{path}"
        return httpx.request(method, url, json=body, headers=headers, timeout=120)

    def server(self, owner: str, name: str) -> str:
        """The address of a workspace's server."""
        return f"{self.url}user/{quote(owner, safe='@~')}/{name}/"

    def stop(self) -> int:
        """Ctrl-C; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def remove(self) -> None:
        """Delete the folder of a stopped deployment."""
        shutil.rmtree(self.home.root, ignore_errors=True)
        shutil.rmtree(self.home.runtime, ignore_errors=True)
        self.output.unlink(missing_ok=True)


def start(
    deployment: Path = DEPLOYMENT,
    base_url: str = "/",
    home: Home | None = None,
    extra: Sequence[str] = (),
    module: str = SUPERVISOR,
) -> Running:
    """`gearshift up` in its own folder below /var/tmp, which other uids may enter; returns once it is ready."""
    home = home or new_home()
    output = home.root.with_suffix(".out")
    running = Running(home, launch(home, deployment, base_url, output, extra, module), output)
    deadline = time.monotonic() + START_S
    while "Ctrl-C stops everything" not in output.read_text():
        said = output.read_text()
        if running.process.poll() is not None:
            raise AssertionError(f"gearshift up ended with {running.process.returncode}: {said}")
        if time.monotonic() > deadline:
            running.stop()
            raise AssertionError(f"gearshift up was not ready within {START_S} s: {said}")
        time.sleep(0.05)
    activate_admin(running)
    return running


def new_home() -> Home:
    root = Path(tempfile.mkdtemp(prefix="gearshift-test-", dir="/var/tmp"))
    root.chmod(0o755)
    return Home(root)


def launch(
    home: Home,
    deployment: Path,
    base_url: str,
    output: Path,
    extra: Sequence[str] = (),
    module: str = SUPERVISOR,
) -> subprocess.Popen[bytes]:
    """The supervisor's process, its words in `output`."""
    argv = [sys.executable, "-P", "-m", module, "--home", str(home.root)]
    argv += ["--deployment", str(deployment), "--base-url", base_url, *extra]
    support = str(Path(__file__).resolve().parents[1])
    with output.open("wb") as said:
        return subprocess.Popen(
            argv,
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": support} if module != SUPERVISOR else None,
        )


def activate_admin(running: Running) -> None:
    """Sign the first admin in with the code that was printed; a second start prints none."""
    said = running.output.read_text()
    if "one-time code " in said:
        code = said.split("one-time code ")[1].split()[0]
        signin.activate(running.url, ADMIN, code, PASSWORD)
