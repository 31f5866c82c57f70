"""Ports of this box: a free one, and whether something answers on one."""

from __future__ import annotations

import asyncio
import socket
from typing import Any


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: Any = probe.getsockname()[1]
        return int(port)


async def answers(port: int, host: str = "127.0.0.1") -> bool:
    """Whether something listens there; one that says nothing for a second does not."""
    try:
        _reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 1.0)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
