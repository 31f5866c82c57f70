"""Whether an app answers, and whether what listens on its port is ours."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from jupyter_server_proxy.unixsock import UnixResolver
from tornado.httpclient import HTTPError, HTTPRequest
from tornado.httputil import HTTPInputError
from tornado.simple_httpclient import SimpleAsyncHTTPClient

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTENING = "0A"
ADDRESS, STATE, UID = 1, 3, 7
"""Columns of these tables."""


async def answers(port: int, socket: str | None, path: str) -> bool:
    """Anything but a failure of its own counts: an app that asks for a password is up."""
    resolver = {"resolver": UnixResolver(socket)} if socket else {}
    client = SimpleAsyncHTTPClient(force_instance=True, **resolver)
    asked = HTTPRequest(
        f"http://localhost:{port}{path}" if socket else f"http://127.0.0.1:{port}{path}",
        connect_timeout=2.0,
        request_timeout=5.0,
        follow_redirects=False,
    )
    with suppress(OSError, HTTPError, HTTPInputError):
        return bool((await client.fetch(asked, raise_error=False)).code < 500)
    return False


def is_foreign(port: int, uid: int) -> bool:
    """Whether another person listens on this port."""
    return any(owner != uid for owner in listeners(port))


def listeners(port: int) -> set[int]:
    """The uids that listen there."""
    wanted = f":{port:04X}"
    found = set()
    for table in TABLES:
        with suppress(OSError):
            rows = (line.split() for line in table.read_text().splitlines()[1:])
            found |= {
                int(row[UID]) for row in rows if row[STATE] == LISTENING and row[ADDRESS].endswith(wanted)
            }
    return found
