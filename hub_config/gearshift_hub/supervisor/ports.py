"""Which ports this run uses: those of the deployment file, those of the last run where free, else free ones."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress

import psutil

from gearshift_hub.deployment import Server
from gearshift_hub.paths import Home, Ports
from gearshift_hub.supervisor.trouble import about_port

LOOPBACK = "127.0.0.1"


def choose(server: Server, home: Home) -> Ports:
    """All four ports, every one of them free now; raises CannotStart for a declared one that is not.

    The last run's ports are taken again where possible, since servers that outlived it know them.
    """
    last = last_ports(home)
    with ExitStack() as held:
        return Ports(
            host=server.host,
            port=_take(held, server.host, server.port, last.port if last else None),
            hub_port=_take(held, LOOPBACK, server.hub_port, last.hub_port if last else None),
            control_port=_take(held, LOOPBACK, server.control_port, last.control_port if last else None),
            traefik_api_port=_take(
                held, LOOPBACK, server.traefik_api_port, last.traefik_api_port if last else None
            ),
            base_url=server.base_url,
        )


def last_ports(home: Home) -> Ports | None:
    """What the last run wrote down, if it can be read."""
    with suppress(OSError, ValueError, TypeError):
        return home.ports()
    return None


def _take(held: ExitStack, host: str, declared: int, last: int | None) -> int:
    if declared:
        try:
            return _bind(held, host, declared)
        except OSError as error:
            raise about_port(host, declared, error, _holder(declared)) from error
    with suppress(OSError):
        if last:
            return _bind(held, host, last)
    return _bind(held, host, 0)


def _bind(held: ExitStack, host: str, port: int) -> int:
    """Hold the port until all four are chosen, so that no two are the same."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    probe = held.enter_context(socket.socket(family, socket.SOCK_STREAM))
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind((host, port))
    return int(probe.getsockname()[1])


def _holder(port: int) -> str | None:
    """Who listens there, where this user may know it."""
    with suppress(psutil.Error):
        for one in psutil.net_connections("tcp"):
            if one.laddr and one.laddr.port == port and one.status == psutil.CONN_LISTEN and one.pid:
                return f"{psutil.Process(one.pid).name()} (process {one.pid})"
    return None
