"""The supervisor's side of the template (`gearshift.train.template`): starts it, asks it for ranks, lets it go.

Whatever is wrong with it, the answer is None, and the rank is started as a process of its own.
"""

from __future__ import annotations

import array
import json
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gearshift.train.gang import environment, privileges
from gearshift.train.gang.enclosure import die_with_parent
from gearshift.train.gang.order import Order

MODULE = "gearshift.train.template"
ANSWER_SECONDS = 5.0
PACKET = 1 << 16
GO = b"g"
QUIET = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1", "CUDA_VISIBLE_DEVICES": ""}
"""Asking whether there is a CUDA device must not initialise it: no fork survives that."""


@dataclass(frozen=True)
class Wanted:
    """One rank: what it finds, where it writes, and the network it is on."""

    env: Mapping[str, str]
    argv: Sequence[str]
    cwd: str
    log: int
    metrics: int
    network: int | None
    data_limit: int
    parent: int
    """The process it dies with; 0 where the namespace sees to that."""


class Template:
    """One process that has imported torch; ranks forked from it are our children."""

    def __init__(self, order: Order) -> None:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection = ours
        argv = [order.python, "-P", "-m", MODULE, str(its.fileno()), str(order.group_timeout_seconds)]
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                argv,
                env=environment.base(order, dict(os.environ)) | _mark() | QUIET,
                cwd=order.cwd,
                stdin=subprocess.DEVNULL,
                pass_fds=(its.fileno(),),
                start_new_session=True,
                preexec_fn=_before_exec,  # noqa: PLW1509 - this process has one thread
            )
        except OSError:
            ours.close()
            raise
        finally:
            its.close()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def fileno(self) -> int:
        """Becomes readable when it is ready, and when it is gone."""
        return self._connection.fileno()

    def is_ready(self) -> bool:
        """Its first word, once it came: it has imported torch, and ranks may be forked from it."""
        said = self._answer(0.0)
        return said is not None and said["ready"] is True

    def fork(self, wanted: Wanted) -> int | None:
        """The pid of a new rank; None when it must be started in another way. Nothing of a failed try runs on."""
        if self._process is None:
            return None
        go, say = os.pipe()
        try:
            pid = self._ask(wanted, go)
            if pid is None:
                self.close()
                return None
            os.write(say, GO)
            return pid
        except OSError:
            self.close()
            return None
        finally:
            os.close(go)
            os.close(say)

    def close(self) -> None:
        """It is not needed any more; gone already is success."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._connection.close()

    def _ask(self, wanted: Wanted, go: int) -> int | None:
        fields: dict[str, Any] = {"env": dict(wanted.env), "argv": list(wanted.argv), "cwd": wanted.cwd}
        fields |= {"data_limit": wanted.data_limit, "parent": wanted.parent}
        network = [] if wanted.network is None else [wanted.network]
        descriptors = array.array("i", [go, wanted.log, wanted.metrics, *network])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        self._connection.sendmsg([json.dumps(fields).encode()], rights)
        said = self._answer(ANSWER_SECONDS)
        return None if said is None else said["pid"]

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as waiting, suppress(OSError):
            waiting.register(self._connection, selectors.EVENT_READ)
            while True:
                if waiting.select(max(0.0, until - time.monotonic())):
                    packet = self._connection.recv(PACKET)
                    said: dict[str, Any] | None = json.loads(packet) if packet else None
                    return said
                if time.monotonic() >= until:
                    return None
        return None


def _mark() -> dict[str, str]:
    """What the keeper of our tree looks for where there are no control groups."""
    return {name: os.environ[name] for name in ("GEARSHIFT_TREE",) if name in os.environ}


def _before_exec() -> None:
    die_with_parent()
    privileges.keep_through_exec()
