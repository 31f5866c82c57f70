"""A box for tests: a home below /var/tmp, a running fork server, people, and a stand-in for the hub's API."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gearshift.model.launch import ImageRef, LaunchPlan, Person, ProcessLimits, WorkspaceRef
from gearshift_hub.backends.local import people
from gearshift_hub.backends.local.cgroups import Groups
from gearshift_hub.backends.local.keeper import Box
from gearshift_hub.backends.local.limits import Limits
from gearshift_hub.backends.local.processes import Handle, Trees
from gearshift_hub.paths import Home

GIB = 1 << 30
FIRST_UID = 28_000 + 100 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
"""Files of tests that run at the same time see each other's processes: their people have other uids."""


@contextmanager
def home_folder(parent: str = "/var/tmp") -> Iterator[Home]:
    """A deployment's folder that other uids may enter; removed with all that hangs on it."""
    root = Path(tempfile.mkdtemp(prefix="gearshift-test-", dir=parent))
    root.chmod(0o755)
    home = Home(root)
    try:
        home.create()
        yield home
    finally:
        Groups(home.cgroup).remove_all()
        shutil.rmtree(home.runtime, ignore_errors=True)
        shutil.rmtree(root)


def wait_until(true: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait for a condition; fails with its name."""
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, f"not within {seconds} s: {what}"
        time.sleep(0.005)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class ForkServer:
    """The real fork server as a process of its own; `through` is a command that starts it with less rights."""

    home: Home
    through: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    @property
    def log(self) -> Path:
        return self.home.logs / "forkserver.log"

    def start(self) -> None:
        module = ["-m", "gearshift_hub.backends.local.forkserver", "--home", str(self.home.root)]
        command = [*self.through, sys.executable, *module]
        with self.log.open("ab") as log:
            begins = log.tell()
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment, cwd="/")
        wait_until(lambda: b" ready" in self.log.read_bytes()[begins:], "the fork server is ready")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class StandInHub:
    """The three answers a single-user server wants of a hub: version, who a token is, thanks for activity."""

    def __init__(self) -> None:
        self.users: dict[str, str] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hub/api"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        users = self.users

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                token = self.headers.get("Authorization", "").removeprefix("token ")
                if self.path.endswith("/user"):
                    name = users.get(token)
                    self._answer(200 if name else 403, _user(name) if name else {"message": "no"})
                else:
                    self._answer(200, {"version": "6.1.1"})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self._answer(200, {})

            def _answer(self, status: int, body: dict[str, Any]) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("X-JupyterHub-Version", "6.1.1")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args: object) -> None:
                pass

        return Handler


def _user(name: str) -> dict[str, Any]:
    scopes = [f"access:servers!user={name}", f"read:users:name!user={name}"]
    return {"name": name, "kind": "user", "admin": False, "groups": [], "scopes": scopes, "session_id": None}


@dataclass
class TestBox:
    """Fork server, trees and people of one home."""

    __test__ = False

    home: Home
    server: ForkServer
    trees: Trees
    hub: StandInHub
    started: int = 0

    @property
    def inside(self) -> Box:
        """Records and groups, as the fork server sees them."""
        return Box.of(self.home)

    def person(self, name: str) -> Person:
        folder = self.home.homes / name
        uid = folder.stat().st_uid if folder.exists() else FIRST_UID + len(list(self.home.homes.iterdir()))
        return people.ensure(self.home, name.title(), name, uid)

    def name(self, kind: str = "ws") -> str:
        self.started += 1
        return f"{kind}-{self.started:08x}-1"

    def run(
        self, person: Person, code: str, *words: str, limits: Limits | None = None, **more: Any
    ) -> tuple[Handle, Path]:
        """Start Python code as this person, in a tree of its own; returns its output file too."""
        tree = self.name("job")
        log = self.home.logs / f"{tree}.log"
        argv = [sys.executable, "-u", "-c", code, *words]
        handle = self.trees.start_command(
            tree=tree,
            person=person,
            argv=argv,
            env=more.pop("env", {}),
            cwd=more.pop("cwd", person.home),
            limits=limits or Limits(memory_bytes=GIB, pids=200),
            log=log,
            **more,
        )
        return handle, log

    def finish(self, person: Person, code: str, *words: str, **more: Any) -> str:
        """Run Python code as this person to its end and return what it printed; it must end with 0."""
        handle, log = self.run(person, code, *words, **more)
        wait_until(lambda: not self.trees.alive(handle.tree), f"{handle.tree} has ended")
        assert self.trees.exit_code(handle.tree) == 0, log.read_text()
        return log.read_text()

    def start_server(self, person: Person, token: str, memory_bytes: int = GIB, **env: str) -> Server:
        """Start a real single-user server and wait for its first answer."""
        self.hub.users[token] = person.slug
        port, tree = free_port(), self.name()
        prefix = f"/user/{person.slug}/{tree}/"
        plan = launch_plan(person, tree, self.home, memory_bytes)
        began = time.monotonic()
        handle = self.trees.start_server(
            plan, {**hub_environment(person, token, port, prefix, self.hub.api), **env}, SERVER_ARGV, port
        )
        server = Server(handle, plan, f"http://127.0.0.1:{port}{prefix}", token, time.monotonic() - began)
        wait_until(lambda: server.answers() or not self.trees.alive(tree), "the server answers")
        assert self.trees.alive(tree), self.trees.log_path(tree).read_text()
        server.answered_after = time.monotonic() - began
        return server


SERVER_ARGV = ["jupyterhub-singleuser", "--KernelManager.transport=ipc", "--ServerApp.log_level=WARN"]


@dataclass
class Server:
    """A single-user server that runs."""

    handle: Handle
    plan: LaunchPlan
    url: str
    token: str
    forked_after: float
    answered_after: float = 0.0

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}api", timeout=5):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the server's REST API as its owner."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.url}{path}", data=data, headers=headers, method=method)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None


def launch_plan(person: Person, tree: str, home: Home, memory_bytes: int = GIB) -> LaunchPlan:
    short = tree.split("-")[1]
    runtime, state = people.workspace_folders(home, person, short)
    return LaunchPlan(
        operation="op",
        workspace=WorkspaceRef(owner=person.slug, name=tree),
        person=person,
        image=ImageRef(id="pytorch", python=sys.executable, digest="env"),
        limits=ProcessLimits(memory_bytes=memory_bytes, cpus=1, pids=500),
        runtime_dir=str(runtime),
        state_dir=str(state),
        tree=tree,
        labels={"workspace": f"{person.slug}/{tree}"},
    )


def hub_environment(person: Person, token: str, port: int, prefix: str, api: str) -> dict[str, str]:
    """What a hub's spawner puts into a server's environment."""
    return {
        "JUPYTERHUB_API_TOKEN": token,
        "JUPYTERHUB_API_URL": api,
        "JUPYTERHUB_ACTIVITY_URL": f"{api}/users/{person.slug}/activity",
        "JUPYTERHUB_BASE_URL": "/",
        "JUPYTERHUB_CLIENT_ID": f"jupyterhub-user-{person.slug}",
        "JUPYTERHUB_HOST": "",
        "JUPYTERHUB_OAUTH_ACCESS_SCOPES": json.dumps([f"access:servers!user={person.slug}"]),
        "JUPYTERHUB_OAUTH_SCOPES": json.dumps([f"access:servers!user={person.slug}"]),
        "JUPYTERHUB_SERVER_NAME": "",
        "JUPYTERHUB_SERVICE_PREFIX": prefix,
        "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:{port}{prefix}",
        "JUPYTERHUB_USER": person.slug,
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    }


@contextmanager
def running_box(parent: str = "/var/tmp", through: tuple[str, ...] = ()) -> Iterator[TestBox]:
    """A box with its fork server; nothing of it is left afterwards."""
    with home_folder(parent) as home:
        server, hub = ForkServer(home, through), StandInHub()
        try:
            yield TestBox(home, server, Trees(home), hub)
        finally:
            server.stop()
            hub.close()
