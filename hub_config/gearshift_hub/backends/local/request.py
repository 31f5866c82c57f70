"""The request to start a tree, and how it travels: packets on a local socket that only the new child reads."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from gearshift.model.launch import Person

from .isolation import Bind
from .limits import Limits, Role

PACKET = 60_000
TIMEOUT_SECONDS = 30.0
_MORE, _LAST = b"+", b"."
_SHORT_PATH = 100


class StartRefused(Exception):
    """The child could not become what was asked; the text is for the log, `kind` is for code."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True)
class Request:
    """All that a child needs to become the leader of a tree. Its `env` holds tokens."""

    kind: Literal["server", "command"]
    tree: str
    person: Person
    argv: list[str]
    env: dict[str, str] = field(repr=False)
    cwd: str
    log: str
    role: Role = "server"
    limits: Limits = field(default_factory=Limits)
    devices: list[str] = field(default_factory=list)
    binds: list[Bind] = field(default_factory=list)
    runtime_dir: str = ""
    port: int = 0
    guarded_ports: list[int] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> bytes:
        values = {**asdict(self), "person": self.person.model_dump(mode="json")}
        return json.dumps(values).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Request:
        values: dict[str, Any] = json.loads(text)
        values["person"] = Person(**values["person"])
        values["limits"] = Limits(**{**values["limits"], "cores": tuple(values["limits"]["cores"])})
        values["binds"] = [Bind(**bind) for bind in values["binds"]]
        return cls(**values)


@dataclass(frozen=True)
class Started:
    """The child's answer."""

    pid: int
    started_at: str


def send_request(connection: socket.socket, request: Request) -> None:
    text = request.to_json()
    parts = [text[at : at + PACKET] for at in range(0, len(text), PACKET)]
    for part in parts[:-1]:
        connection.send(_MORE + part)
    connection.send(_LAST + parts[-1])


def receive_request(connection: socket.socket) -> Request:
    """Read by the child, after the fork: the parent never holds a byte of it."""
    text = b""
    while True:
        packet = connection.recv(PACKET + 1)
        if not packet:
            raise ConnectionError("the request ended early")
        text += packet[1:]
        if packet[:1] == _LAST:
            return Request.from_json(text)


def peer_uid(connection: socket.socket) -> int:
    """Who is at the other end, as the kernel knows it."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", raw)
    return int(uid)


def send_started(connection: socket.socket, started: Started) -> None:
    connection.send(json.dumps({"started": asdict(started)}).encode())


def send_refusal(connection: socket.socket, kind: str, text: str) -> None:
    connection.send(json.dumps({"refused": {"kind": kind, "text": text[:2000]}}).encode())


def receive_answer(connection: socket.socket) -> Started:
    """The child's answer; a refusal may follow it when the command cannot be executed."""
    started: Started | None = None
    while packet := connection.recv(PACKET):
        answer = json.loads(packet)
        if "refused" in answer:
            raise StartRefused(answer["refused"]["kind"], answer["refused"]["text"])
        started = Started(**answer["started"])
    if started is None:
        raise StartRefused("lost", "the fork server's child ended without an answer; see the server's log")
    return started


@contextmanager
def socket_address(path: Path) -> Iterator[str]:
    """A name for a socket's path that fits into the kernel's 107 characters, however long the path is."""
    if len(os.fsencode(path)) <= _SHORT_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
