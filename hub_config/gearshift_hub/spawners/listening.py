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


async def answers(port: int) -> bool:
    """Whether something listens there."""
    try:
        _reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
