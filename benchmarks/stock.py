"""Knows the peer: a stock JupyterHub 6.1 with its `simple` spawner, its own proxy and the stock single-user server.

It runs in the same environment with the same Lab, our extension switched off. Its proxy is the npm package
configurable-http-proxy, installed once below GEARSHIFT_HOME/bench.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.measure import CannotMeasure

PROXY = "configurable-http-proxy@5.3.0"
OURS = ("jupyterlab-gearshift", "@jupyter/docprovider-extension", "@jupyter/collaboration-extension")
CONFIG = """
c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{port}/"
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/home/{{username}}"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie"
c.JupyterHub.services = [{{"name": "bench", "api_token": "{token}", "admin": True}}]
c.ConfigurableHTTPProxy.command = ["{node}", "{proxy}"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.pid_file = "{folder}/proxy.pid"
c.Spawner.cmd = ["{python}", "-m", "jupyterhub.singleuser"]
OFF = {{'gearshift.lab': False, 'jupyter_server_fileid': False, 'jupyter_server_ydoc': False}}
c.Spawner.args = ["--allow-root", f"--ServerApp.jpserver_extensions={{OFF}}", *{more}]
c.Spawner.http_timeout = 60
c.JupyterHub.log_level = "WARN"
"""


class Stock:
    """A running stock hub; `close()` leaves no process."""

    def __init__(self, extension: bool = True) -> None:
        """`extension` False also keeps our Lab extension and what it brings from its pages."""
        self.folder = Path(tempfile.mkdtemp(prefix="stock-hub-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.token = os.urandom(16).hex()
        port, hub_port, api_port = (free_port() for _ in range(3))
        self.url = f"http://127.0.0.1:{port}/"
        config = CONFIG.format(
            port=port, hub_port=hub_port, api_port=api_port, folder=self.folder, token=self.token,
            node=shutil.which("node"), proxy=proxy_script(), python=sys.executable,
            more=[] if extension else [f"--LabApp.labextensions_path={without_ours(self.folder)}"],
        )  # fmt: skip
        (self.folder / "config.py").write_text(config)
        self.log = (self.folder / "log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(self.folder / "config.py")],
            cwd=self.folder, stdout=self.log, stderr=self.log, start_new_session=True,
        )  # fmt: skip
        self.api = httpx.Client(
            base_url=self.url + "hub/api/", headers={"Authorization": f"token {self.token}"}, timeout=60
        )
        self._wait_up()

    def _wait_up(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if self.api.get("").status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise CannotMeasure(f"the stock hub did not come up; see {self.folder}/log")

    def add(self, user: str) -> None:
        self.api.post(f"users/{user}")

    def start(self, user: str) -> str:
        """Start the user's server, wait until the hub says ready; returns its address."""
        self.api.post(f"users/{user}/server").raise_for_status()
        while not self._ready(user):
            time.sleep(0.01)
        return f"{self.url}user/{user}/"

    def _ready(self, user: str) -> bool:
        model: dict[str, Any] = self.api.get(f"users/{user}").raise_for_status().json()
        return bool(model["servers"].get("", {}).get("ready"))

    def stop(self, user: str) -> None:
        self.api.delete(f"users/{user}/server").raise_for_status()
        while self.api.get(f"users/{user}").json()["servers"]:
            time.sleep(0.01)

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def proxy_script() -> Path:
    folder = Path(sys.prefix).parent / "bench"
    script = folder / "node_modules/configurable-http-proxy/bin/configurable-http-proxy"
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        if npm is None:
            raise CannotMeasure("the stock hub's proxy needs Node and npm on PATH")
        done = subprocess.run(
            [npm, "install", "--prefix", folder, PROXY], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise CannotMeasure(f"{PROXY} could not be installed: {done.stderr.strip()[-200:]}")
    return script


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def without_ours(folder: Path) -> Path:
    """The environment's Lab extensions without ours and the two that it needs: not even their files are loaded."""
    installed, kept = Path(sys.prefix) / "share/jupyter/labextensions", folder / "labextensions"
    manifests = [*installed.glob("*/package.json"), *installed.glob("@*/*/package.json")]
    for name in (str(manifest.parent.relative_to(installed)) for manifest in manifests):
        if name not in OURS:
            (kept / name).parent.mkdir(parents=True, exist_ok=True)
            (kept / name).symlink_to(installed / name)
    return kept
