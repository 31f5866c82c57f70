"""Connections that callers keep open for their next request: control does not close them first."""

from __future__ import annotations

import socket

import pytest
from gearshift_testing.running import Running

LONGER_THAN_A_POOL_S = 6.0
"""httpx forgets a connection after 5 s; until then it may send on it at any instant."""


def test_an_idle_connection_to_control_outlives_the_pools_of_its_callers(running: Running) -> None:
    request = b"GET /services/gearshift/alive HTTP/1.1\r\nHost: control\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.home.ports().control_port), timeout=60) as kept:
        kept.sendall(request)
        assert kept.recv(65536).startswith(b"HTTP/1.1 204")
        kept.settimeout(LONGER_THAN_A_POOL_S)
        with pytest.raises(TimeoutError):
            kept.recv(1)
        kept.settimeout(60)
        kept.sendall(request)
        assert kept.recv(65536).startswith(b"HTTP/1.1 204")
