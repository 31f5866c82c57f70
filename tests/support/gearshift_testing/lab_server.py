"""A real jupyter server with our extension, as a process of its own; and a small control that answers and remembers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import httpx

TOKEN = "lab-test-token-of-the-browser"
HUB_TOKEN = "hub-token-of-the-server-never-shown"
STATE_KEY = "ab" * 32
START_S = 60.0
ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "extensions/gearshift/lab/config"
_OTHERS = ("jupyterlab", "jupyter_lsp", "jupyter_server_terminals", "notebook_shim")
_DOCUMENTS = ("jupyter_server_fileid", "jupyter_server_ydoc")
_MAIN = "import sys; sys.modules['rfc3987_syntax'] = None; from jupyter_server.serverapp import main; main()"
"""As the warm server does: that module costs 1.2 s at each start and nobody needs it (facts-hub 3.4)."""


@dataclass
class Call:
    """One request that reached control."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FakeControl:
    """Answers like control where a test needs it; everything else is echoed."""

    calls: list[Call] = field(default_factory=list)
    cost: dict[str, Any] | None = None
    """What any span of time cost; nothing was charged without it."""

    def __enter__(self) -> Self:
        control = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                call = Call(self.command, self.path, dict(self.headers), body)
                control.calls.append(call)
                status, answer = control.answer(call)
                raw = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.send_header("Set-Cookie", "control=secret")
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _answer

            def log_message(self, *args: Any) -> None:
                """Nothing on stderr."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/services/gearshift"
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, call: Call) -> tuple[int, Any]:
        path = call.path.partition("?")[0].removeprefix("/services/gearshift/api/v1/")
        if call.headers.get("Authorization") != f"token {HUB_TOKEN}":
            return 401, {"error": {"code": "unauthenticated"}}
        if path.endswith("/confirm") and call.headers.get("X-Gearshift-Press") != "1":
            return 403, {"error": {"code": "needs_confirmation", "message": "press", "message_zh": "按"}}
        if path.endswith("/cost"):
            return 200, self.cost or {"on": []}
        if path.endswith("/ticket"):
            return 200, {"ticket": "t-1", "expires_at": "2026-11-30T21:00:00.000000Z", "url": "/events"}
        return 200, {"path": path, "query": call.path.partition("?")[2]}


class LabServer:
    """One server process; folders outlive it so that a second one can restore what the first saved."""

    def __init__(self, folders: Folders, control_url: str, documents: bool = False, **env: str) -> None:
        self._folders, self._env = folders, {"GEARSHIFT_CONTROL_URL": control_url, **env}
        self._documents = documents
        self.work = folders.work

    def __enter__(self) -> Self:
        self.runtime = Path(tempfile.mkdtemp(prefix="gs-rt-"))
        self._log = (self._folders.root / "server.log").open("ab")
        command = [
            sys.executable, "-c", _MAIN, "--no-browser", "--allow-root", "--ServerApp.port=0",
            f"--ServerApp.token={TOKEN}", f"--ServerApp.root_dir={self._folders.work}",
            "--ServerApp.base_url=/user/mei/vlm/", "--KernelManager.transport=ipc",
            "--YDocExtension.document_cleanup_delay=3",
            "--YDocExtension.ystore_class=gearshift.lab.documents.update_store.UpdateStore",
            f"--BaseFileIdManager.db_path={self._folders.state}/documents/files.db",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, env=self._environment(), cwd=self._folders.root, stdout=self._log, stderr=self._log,
            start_new_session=True,
        )  # fmt: skip
        self.pid = self._process.pid
        try:
            self.url = self._wait_for_address()
        except BaseException:
            self.end()  # nobody else will
            raise
        self.http = httpx.Client(
            base_url=self.url, headers={"Authorization": f"token {TOKEN}"}, timeout=60, trust_env=False
        )
        return self

    def __exit__(self, *error: object) -> None:
        self.http.close()
        self.end()
        self._log.close()
        shutil.rmtree(self.runtime, ignore_errors=True)

    @property
    def state_dir(self) -> Path:
        return self._folders.state

    @property
    def work_dir(self) -> Path:
        """Where notebooks are, and kernels run."""
        return self._folders.work

    def end(self) -> None:
        """Kill the whole group: what a switch does to the old server once the new one is verified."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pid in self.kernel_pids():
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def kernel_pids(self) -> list[int]:
        """Kernels of this server: they name its runtime folder on their command line."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if str(self.runtime).encode() in words:
                    found.append(int(entry.name))
        return found

    @contextlib.contextmanager
    def browser(self) -> Iterator[httpx.Client]:
        """A page: signed in by a cookie, with its XSRF token."""
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as client:
            client.get("login")
            said = client.post("login", data={"password": TOKEN, "_xsrf": client.cookies["_xsrf"]})
            assert said.status_code == 302
            client.headers["X-XSRFToken"] = client.cookies["_xsrf"]
            yield client

    def log(self) -> str:
        return (self._folders.root / "server.log").read_text(errors="replace")

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG")}
        return {
            **kept,
            "HOME": str(self._folders.home),
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
            "JUPYTER_CONFIG_PATH": f"{self._folders.without_others(self._documents)}:{CONFIG}",
            "JUPYTERHUB_API_TOKEN": HUB_TOKEN,
            "GEARSHIFT_WORKSPACE": "mei/vlm",
            "GEARSHIFT_MACHINE": "cpu-small",
            "GEARSHIFT_STATE_DIR": str(self._folders.state),
            "GEARSHIFT_STATE_KEY": STATE_KEY,
            "GEARSHIFT_DEVICES": "",
            "CUDA_VISIBLE_DEVICES": "",
            **self._env,
        }

    def _wait_for_address(self) -> str:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise AssertionError(self.log())
            for file in self.runtime.glob("jpserver-*.json"):
                try:
                    said = json.loads(file.read_text())
                    url = f"http://127.0.0.1:{said['port']}{said['base_url']}"
                    httpx.get(
                        f"{url}api/status", headers={"Authorization": f"token {TOKEN}"}, trust_env=False
                    )
                except (ValueError, httpx.TransportError):
                    continue
                return url
            time.sleep(0.05)
        raise AssertionError(f"not listening within {START_S} s\n{self.log()}")


@dataclass(frozen=True)
class Folders:
    """What stays when a server goes: home, notebooks, kernel state."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> Folders:
        found = cls(root)
        for folder in (found.home, found.work, found.state):
            folder.mkdir(parents=True, mode=0o700)
        return found

    def without_others(self, documents: bool) -> Path:
        """Settings that leave other extensions out: the tests need none of them, and few the shared documents."""
        place = self.root / "config" / "jupyter_server_config.d"
        place.mkdir(parents=True, exist_ok=True)
        chosen = {**dict.fromkeys(_OTHERS, False), **dict.fromkeys(_DOCUMENTS, documents)}
        (place / "others.json").write_text(json.dumps({"ServerApp": {"jpserver_extensions": chosen}}))
        return place.parent

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def state(self) -> Path:
        return self.root / "state"
