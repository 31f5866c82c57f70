"""Knows how to run code in a kernel of a workspace from outside a browser, as a page would: REST and websocket.

Source of the wire format: the Jupyter messaging specification 5.x and jupyter_server's kernel websocket (JSON form).
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import websocket

FIRST_WAIT_S, LONGEST_WAIT_S = 0.02, 0.5


class KernelError(Exception):
    """The code raised: `name`, `value` and the plain traceback as the kernel sent it."""

    def __init__(self, name: str, value: str, traceback: list[str]) -> None:
        super().__init__(f"{name}: {value}")
        self.name, self.value, self.traceback = name, value, traceback


@dataclass
class Result:
    """What one execution printed and displayed; `data` holds the MIME bundles in order."""

    text: str = ""
    data: list[dict[str, Any]] = field(default_factory=list)
    execution_count: int | None = None


class Kernel:
    """One notebook session of a workspace.

    `server_url` is the workspace's address (`http://host:port/user/mei/vlm/`), `token` a hub token with
    `access:servers` for it. Raises `httpx.HTTPError` for refused requests, `KernelError` when code raises,
    `TimeoutError` past `timeout` seconds.
    """

    def __init__(self, server_url: str, token: str, path: str = "untitled.ipynb") -> None:
        self.server_url = server_url.rstrip("/") + "/"
        self.headers = {"Authorization": f"token {token}"}
        self.http = httpx.Client(base_url=self.server_url, headers=self.headers, timeout=60, trust_env=False)
        self.session = uuid.uuid4().hex
        found = self._session_of(path) or self._new_session(path)
        self.kernel_id: str = found["kernel"]["id"]
        self._socket: websocket.WebSocket | None = None

    def _session_of(self, path: str) -> dict[str, Any] | None:
        sessions: list[dict[str, Any]] = self.http.get("api/sessions").raise_for_status().json()
        return next((found for found in sessions if found["path"] == path), None)

    def _new_session(self, path: str) -> dict[str, Any]:
        body = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
        made: dict[str, Any] = self.http.post("api/sessions", json=body).raise_for_status().json()
        return made

    def run(self, code: str, timeout: float = 60, silent: bool = False) -> Result:
        """Execute `code` and wait for its end."""
        message_id = self._send(code, silent)
        return self._collect(message_id, time.monotonic() + timeout)

    def send(self, code: str) -> None:
        """Begin to execute `code`, and wait for nothing: it may be what ends the kernel."""
        self._send(code)

    def _send(self, code: str, silent: bool = False) -> str:
        message_id, kind = uuid.uuid4().hex, "execute_request"
        content = {
            "code": code, "silent": silent, "store_history": not silent, "user_expressions": {},
            "allow_stdin": False, "stop_on_error": True,
        }  # fmt: skip
        header = {
            "msg_id": message_id, "msg_type": kind, "username": "", "session": self.session, "version": "5.4",
            "date": "",
        }  # fmt: skip
        message = {
            "header": header,
            "parent_header": {},
            "metadata": {},
            "content": content,
            "channel": "shell",
        }
        self.connection().send(json.dumps(message))
        return message_id

    def connection(self) -> websocket.WebSocket:
        """The open websocket; connects when there is none (after a switch the old one is gone)."""
        if self._socket is None or not self._socket.connected:
            parts = urlsplit(self.server_url)
            path = f"{parts.path}api/kernels/{self.kernel_id}/channels"
            scheme = "wss" if parts.scheme == "https" else "ws"
            url = urlunsplit((scheme, parts.netloc, path, f"session_id={self.session}", ""))
            self._socket = websocket.create_connection(url, header=self.headers, timeout=60)
        return self._socket

    def _collect(self, message_id: str, deadline: float) -> Result:
        result, replied, idle = Result(), False, False
        while not (replied and idle):
            message = self._receive(deadline)
            if message.get("parent_header", {}).get("msg_id") != message_id:
                continue
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "execute_reply":
                replied, result.execution_count = True, content.get("execution_count")
                if content["status"] == "error":
                    raise KernelError(content["ename"], content["evalue"], content["traceback"])
            elif kind == "status":
                idle = content["execution_state"] == "idle"
            elif kind == "stream":
                result.text += content["text"]
            elif kind in ("display_data", "execute_result", "update_display_data"):
                result.data.append(content["data"])
        return result

    def _receive(self, deadline: float) -> dict[str, Any]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the kernel did not answer in time")
        connection = self.connection()
        connection.settimeout(left)
        try:
            received: dict[str, Any] = json.loads(connection.recv())
        except websocket.WebSocketTimeoutException as error:
            raise TimeoutError("the kernel did not answer in time") from error
        return received

    def disconnect(self) -> None:
        """Drop the connection; the next run opens one (after a switch the same kernel answers elsewhere)."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def close(self) -> None:
        """Drop the connection; the kernel goes on."""
        self.disconnect()
        self.http.close()


def wait_until_ready(server_url: str, token: str, timeout: float = 60) -> None:
    """Return when the workspace answers through the proxy; `TimeoutError` past `timeout` seconds."""
    deadline, pause = time.monotonic() + timeout, FIRST_WAIT_S
    with httpx.Client(headers={"Authorization": f"token {token}"}, timeout=10, trust_env=False) as http:
        while True:
            answer = http.get(server_url.rstrip("/") + "/api/status", follow_redirects=False)
            if answer.status_code == httpx.codes.OK:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"{server_url} answers {answer.status_code} after {timeout:g} s")
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_WAIT_S)
