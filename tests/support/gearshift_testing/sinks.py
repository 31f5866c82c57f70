"""Where notices arrive in tests: a web hook and a mail host that really listen and remember what came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message


@dataclass
class WebHook:
    """`refuse`: so many calls are answered with 503 first."""

    port: int = 0
    refuse: int = 0
    calls: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers["content-length"]))
        refused, self.refuse = self.refuse > 0, max(0, self.refuse - 1)
        if not refused:
            self.calls.append((headers, body))
        status = b"503 Busy" if refused else b"204 No Content"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


@dataclass
class MailHost:
    """As much of SMTP as a client needs to leave a message."""

    port: int = 0
    mails: list[tuple[str, Message]] = field(default_factory=list)
    """Whom each was sent to."""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to = ""
        writer.write(b"220 sink\r\n")
        while line := await reader.readline():
            word = line.decode().strip()
            if word.upper().startswith("RCPT TO:"):
                to = word[8:].strip().strip("<>")
            if word.upper() == "DATA":
                writer.write(b"354 go on\r\n")
                raw = await reader.readuntil(b"\r\n.\r\n")
                self.mails.append((to, message_from_bytes(raw[:-5])))
            writer.write(b"221 bye\r\n" if word.upper() == "QUIT" else b"250 ok\r\n")
            if word.upper() == "QUIT":
                break
        writer.close()


@asynccontextmanager
async def listening(sink: WebHook | MailHost) -> AsyncIterator[None]:
    server = await asyncio.start_server(sink.answer, "127.0.0.1", 0)
    sink.port = server.sockets[0].getsockname()[1]
    async with server:
        yield
