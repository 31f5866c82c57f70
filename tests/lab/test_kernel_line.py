"""The line to a kernel whose way for questions opens late: a real kernel, its port for stdin behind a forwarder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from gearshift.lab.documents.kernel_line import KernelLine
from jupyter_client.manager import AsyncKernelManager

LATE_S = 1.5
PATIENCE_S = 60


class Manager(AsyncKernelManager):
    """Its clients find the kernel's questions at another port."""

    execution_state = "idle"
    stdin_at = 0

    def client(self, **given: Any) -> Any:
        return super().client(stdin_port=self.stdin_at, **given)


@contextlib.asynccontextmanager
async def kernel() -> AsyncIterator[Manager]:
    manager = Manager(kernel_name="python3")
    await manager.start_kernel()
    try:
        yield manager
    finally:
        await manager.shutdown_kernel(now=True)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def forwarder(port: int, to: int) -> asyncio.Server:
    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", to)
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    return await asyncio.start_server(forward, "127.0.0.1", port)


async def a_free_port() -> int:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def test_a_line_is_open_when_the_kernel_can_ask_over_it() -> None:
    """Before that a kernel drops its question, and waits for the answer for ever."""
    questions: asyncio.Queue[Any] = asyncio.Queue()
    async with kernel() as manager:
        manager.stdin_at = await a_free_port()
        line = KernelLine(manager, lambda _: None, questions.put_nowait)
        opening = asyncio.create_task(line.open())
        await asyncio.sleep(LATE_S)
        server = await forwarder(manager.stdin_at, manager.stdin_port)
        await asyncio.wait_for(opening, PATIENCE_S)
        request = line.send("name = input('who? ')")
        question = await asyncio.wait_for(questions.get(), PATIENCE_S)
        assert question["content"]["prompt"] == "who? "
        line.answer("mei")
        reply = await asyncio.wait_for(line.ended(request), PATIENCE_S)
        assert reply["content"]["status"] == "ok"
        line.close()
        server.close()


async def test_an_answer_to_a_kernel_that_is_gone_holds_nobody() -> None:
    questions: asyncio.Queue[Any] = asyncio.Queue()
    async with kernel() as manager:
        manager.stdin_at = manager.stdin_port
        line = KernelLine(manager, lambda _: None, questions.put_nowait)
        await asyncio.wait_for(line.open(), PATIENCE_S)
        line.send("input()")
        await asyncio.wait_for(questions.get(), PATIENCE_S)
        await manager.shutdown_kernel(now=True)
        line.answer("nobody hears it")
        line.close()
