"""A line to one kernel with a session of our own: sends code, hears everything it says, notices when it is gone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty
from typing import Any

import zmq
from jupyter_client.session import Session

LOOK_S = 0.5
LISTEN_S = 0.02
ASK_AGAIN_S = 0.3
ASK_AT_LEAST_S = 10.0
RESTARTS_WITHIN_S = 5.0
LAST_WORDS_S = 5.0
STDIN_WITHIN_S = 10.0
"""A kernel that offers no way to be answered is used without it."""

Message = dict[str, Any]


class KernelGoneError(Exception):
    """The kernel that was asked will never answer: `restarted` when another one is in its place."""

    def __init__(self, restarted: bool) -> None:
        super().__init__("restarted" if restarted else "dead")
        self.restarted = restarted


@dataclass
class _Asked:
    """One execution: over when its reply is there and the kernel said that it is idle again."""

    reply: asyncio.Future[Message] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    idle: asyncio.Event = field(default_factory=asyncio.Event)


class KernelLine:
    """`heard` gets each message of the kernel to all, `asked_for` each of its questions (`input()`)."""

    def __init__(
        self, manager: Any, heard: Callable[[Message], None], asked_for: Callable[[Message], None]
    ) -> None:
        self._manager, self._heard, self._asked_for = manager, heard, asked_for
        self._asked: dict[str, _Asked] = {}
        self._readers: list[asyncio.Task[None]] = []
        self._welcome = asyncio.Event()
        self._pid = _pid_of(manager)

    async def open(self) -> None:
        """Returns when the kernel's messages to all reach us, and its questions: what it says before would be lost."""
        own = Session(key=self._manager.session.key, signature_scheme=self._manager.session.signature_scheme)
        self._client = self._manager.client(session=own)
        self._stdin = _only_once_connected(self._client)
        self._client.start_channels(hb=False)
        self._readers = [
            asyncio.create_task(self._read(self._client.get_iopub_msg, self._on_iopub)),
            asyncio.create_task(self._read(self._client.get_shell_msg, self._on_reply)),
            asyncio.create_task(self._read(self._client.get_stdin_msg, self._asked_for)),
        ]
        await self._heard_by_all()
        await self._can_be_asked()

    async def _heard_by_all(self) -> None:
        """By us, and by the server's own look at what the kernel does: a cell whose beginning that misses counts as idle.
        A kernel greets who begins to listen; one that does not yet is asked until it says something."""
        pause, now = ASK_AGAIN_S, asyncio.get_running_loop().time
        ask_at = now() + pause
        while not self._welcome.is_set() or self._manager.execution_state == "starting":
            await asyncio.sleep(LISTEN_S)
            if now() > ask_at:
                await self._check()
                self._ask_anything()
                pause = min(2 * pause, ASK_AT_LEAST_S)
                ask_at = now() + pause

    async def _can_be_asked(self) -> None:
        """A kernel drops the question to whoever is not connected yet, and waits for the answer for ever."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stdin.poll(None, zmq.POLLOUT), STDIN_WITHIN_S)

    def _ask_anything(self) -> None:
        """Not where cells are sent: sending while an answer waits there takes away the sign that there is one, and the
        next answer would never be read."""
        self._client.control_channel.send(self._client.session.msg("kernel_info_request"))

    @property
    def is_good(self) -> bool:
        """Whether the kernel it was opened to is still the one there."""
        return self._pid is not None and _pid_of(self._manager) == self._pid

    def send(self, code: str) -> str:
        """The id of the request."""
        request: str = self._client.execute(code, store_history=True, allow_stdin=True, stop_on_error=True)
        self._asked[request] = _Asked()
        return request

    def answer(self, value: str) -> None:
        """To the question that the kernel waits with; one that is gone meanwhile is sent nothing."""
        if self._stdin.get(zmq.EVENTS) & zmq.POLLOUT:
            self._client.input(value)

    async def ended(self, request: str) -> Message:
        """The reply to a request; KernelGoneError when there will be none."""
        asked = self._asked[request]
        try:
            while not asked.reply.done():
                await asyncio.wait({asked.reply}, timeout=LOOK_S)
                if not asked.reply.done():
                    await self._check()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asked.idle.wait(), LAST_WORDS_S)
            return asked.reply.result()
        finally:
            del self._asked[request]

    async def _check(self) -> None:
        """A kernel that a person restarts is dead for a moment."""
        if self.is_good and await self._manager.is_alive():
            return
        deadline = asyncio.get_running_loop().time() + RESTARTS_WITHIN_S
        while self._is_restarting() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - no event says it
            await asyncio.sleep(ASK_AGAIN_S)
        raise KernelGoneError(restarted=_pid_of(self._manager) not in (None, self._pid))

    def _is_restarting(self) -> bool:
        found = _pid_of(self._manager)
        return found is None or (found == self._pid and self._manager.shutting_down)

    def close(self) -> None:
        for reader in self._readers:
            reader.cancel()
        self._client.stop_channels()

    async def _read(self, receive: Callable[..., Any], take: Callable[[Message], None]) -> None:
        while True:
            with contextlib.suppress(Empty):
                take(await receive(timeout=None))

    def _on_iopub(self, message: Message) -> None:
        self._welcome.set()
        self._heard(message)
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            asked = self._asked.get(message["parent_header"].get("msg_id", ""))
            if asked is not None:
                asked.idle.set()

    def _on_reply(self, message: Message) -> None:
        asked = self._asked.get(message["parent_header"].get("msg_id", ""))
        if asked is not None and not asked.reply.done():
            asked.reply.set_result(message)


def _only_once_connected(client: Any) -> Any:
    """The socket for questions, made so that it can be written to only while the kernel is at its other end."""
    client.context.setsockopt(zmq.IMMEDIATE, 1)
    socket = client.stdin_channel.socket
    client.context.setsockopt(zmq.IMMEDIATE, 0)
    return socket


def _pid_of(manager: Any) -> int | None:
    return None if manager.provisioner is None else manager.provisioner.pid
