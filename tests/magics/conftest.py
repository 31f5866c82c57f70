"""A real IPython, and a small HTTP server that answers as control does and remembers what it was asked."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

SERVER, SPENDER = "server-token", "spend-token"
NOW = "2026-11-30T20:52:16.123456Z"


def job_record(**fields: Any) -> dict[str, Any]:
    """A job as control shows it."""
    spec = {"name": "cell-1", "machine": "sim-1", "nodes": 2, "procs": 1}
    record = {
        "id": "job-0badcafe", "owner": "mei", "spec": spec, "state": "succeeded", "reason": "succeeded",
        "attempt": 0, "ranks": [], "first_failure": None, "metrics_last": {"step": 9, "loss": 0.25},
        "created_at": NOW, "started_at": NOW, "running_at": NOW, "ended_at": NOW,
        "price_per_hour_nano": 2 * 10**9, "cost_nano": 10**7, "queue": None, "note": "", "ended_by": None,
    }  # fmt: skip
    return record | fields


@dataclass
class ControlStandIn:
    """State and answers; `seen` holds (method, path, token, body)."""

    seen: list[tuple[str, str, str, Any]] = field(default_factory=list)
    job: dict[str, Any] = field(default_factory=job_record)
    confirmed: bool = False
    bundles: dict[str, bytes] = field(default_factory=dict)
    refuse: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    result: bytes = b""
    url: str = ""

    def asked(self, method: str, path: str) -> list[Any]:
        return [body for m, p, _, body in self.seen if (m, p) == (method, path)]

    def answer(
        self, method: str, path: str, query: dict[str, str], token: str, body: bytes
    ) -> tuple[int, Any]:
        sent: Any = body
        if body and path != "jobs/bundles":
            sent = json.loads(body)
        self.seen.append((method, path, token, sent))
        if path in self.refuse:
            status, error = self.refuse[path]
            return status, {"error": {"facts": {}, **error}}
        name = f"{method.lower()}_{path.partition('/')[0]}"
        return 200, getattr(self, name)(path, query, token, sent)

    def get_me(self, *_: Any) -> Any:
        return {"name": "mei", "currency_symbol": "¥", "balance_nano": 42 * 10**9, "today_nano": 10**9}

    def get_catalog(self, *_: Any) -> Any:
        machine = {"id": "sim-1", "images": ["pytorch"]}
        return {"machines": [machine], "images": [{"id": "pytorch"}], "currency_symbol": "¥"}

    def get_workspaces(self, *_: Any) -> Any:
        return {
            "owner": "mei", "name": "vlm", "display_name": "vlm", "state": "ready", "reason": None, "since": NOW,
            "spec": {"image": "pytorch", "machine": "cpu-small"}, "operation": None, "url": "/user/mei/vlm/",
            "interval_open": True, "price_per_hour_nano": 10**8,
        }  # fmt: skip

    def post_workspaces(self, path: str, _query: Any, _token: str, body: Any) -> Any:
        assert path == "workspaces/mei/vlm/datasets"
        return self._dataset(body["dataset"], "attached")

    def delete_workspaces(self, path: str, *_: Any) -> Any:
        return self._dataset(path.rpartition("/")[2], "ready")

    def get_datasets(self, *_: Any) -> Any:
        return [self._dataset("digits", "ready")]

    def get_disks(self, *_: Any) -> Any:
        return [{"id": "d-1", "name": "team", "owner": "mei", "quota_bytes": 10**9, "mode_for_me": "rw",
                 "path_hint": "~/disks/team"}]  # fmt: skip

    def get_costs(self, *_: Any) -> Any:
        line = {"subject": "job:job-0badcafe", "machine": "sim-1", "amount_nano": 10**7}
        return {"since": NOW, "total_nano": 10**7, "lines": [line]}

    def post_plans(self, path: str, _query: Any, token: str, body: Any) -> Any:
        if path.endswith("/confirm"):
            assert token == SPENDER
            self.confirmed = True
            return self.job | {"state": "queued", "queue": None}
        figures = {"name": "cell-1", "price_per_hour_nano": 2 * 10**9, "max_cost_nano": None, "starts": "now"}
        return {"id": "plan-1", "kind": body["kind"], "user": "mei", "body": body, "figures": figures,
                "expires_at": NOW}  # fmt: skip

    def post_jobs(self, _path: str, _query: Any, _token: str, body: bytes) -> Any:
        sha256 = hashlib.sha256(body).hexdigest()
        self.bundles[sha256] = body
        return {"sha256": sha256, "size_bytes": len(body)}

    def get_jobs(self, path: str, query: dict[str, str], *_: Any) -> Any:
        if path == "jobs":
            return [self.job] if "plan" not in query or self.confirmed else []
        if path.endswith("/logs"):
            text = "one\ntwo\n" if int(query["offset"]) <= 0 else ""
            return {
                "text": text,
                "offset": 8,
                "rank": int(query["rank"]),
                "attempt": 0,
                "size_bytes": 8,
                "done": True,
            }
        if path.endswith("/metrics"):
            return [{"step": 1, "loss": 0.5}]
        return self.result if path.endswith("/result") else self.job

    def chunks(self) -> list[dict[str, Any]]:
        """What the last bundle holds."""
        with zipfile.ZipFile(io.BytesIO(list(self.bundles.values())[-1])) as archive:
            found: list[dict[str, Any]] = json.loads(archive.read("chunks.json"))["chunks"]
        return found

    def _dataset(self, name: str, state: str) -> Any:
        card = {
            "id": name,
            "title": {"en": "Digits", "zh": "数字"},
            "licence": "CC BY 4.0",
            "size_bytes": 10**6,
        }
        return {"card": card, "state": state, "path": f"~/datasets/{name}" if state == "attached" else None}


def serve(stand_in: ControlStandIn) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            parts = urlsplit(self.path)
            path = parts.path.removeprefix("/services/gearshift/api/v1/")
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = (self.headers.get("Authorization") or "").removeprefix("token ")
            status, answer = stand_in.answer(self.command, path, query, token, body)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_PUT = _do

        def log_message(self, *_: Any) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def stand_in() -> Iterator[ControlStandIn]:
    made = ControlStandIn()
    server = serve(made)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_address[1]}/services/gearshift"
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass
class Notebook:
    """Cells run in a real IPython; what they print, display and raise is kept."""

    shell: InteractiveShell
    displayed: list[dict[str, Any]] = field(default_factory=list)

    def run(self, source: str) -> str:
        """The text that the cell printed; raises what it raised."""
        with capture_output() as captured:
            outcome = self.shell.run_cell(source, store_history=True)
        self.displayed = [output.data for output in captured.outputs]
        if outcome.error_before_exec or outcome.error_in_exec:
            raise outcome.error_before_exec or outcome.error_in_exec
        return str(captured.stdout)


@pytest.fixture
def notebook(stand_in: ControlStandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Notebook]:
    """In a workspace `mei/vlm`, without a token that may spend."""
    for name, value in environment(stand_in.url).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    made = Notebook(shell)
    made.run("%load_ext gearshift")
    yield made
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def environment(url: str) -> dict[str, str]:
    return {
        "GEARSHIFT_CONTROL_URL": url,
        "GEARSHIFT_WORKSPACE": "mei/vlm",
        "GEARSHIFT_MACHINE": "cpu-small",
        "GEARSHIFT_IMAGE": "pytorch",
        "JUPYTERHUB_API_TOKEN": SERVER,
    }


@pytest.fixture
def spender(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """The same notebook, headless with a token that may spend."""
    monkeypatch.setenv("GEARSHIFT_SPEND_TOKEN", SPENDER)
    return notebook
