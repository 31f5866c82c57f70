"""The four parts of a deployment: how each is started and how one sees that it answers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from gearshift_hub import data
from gearshift_hub.deployment.kubernetes import Backend
from gearshift_hub.hub.control import ControlLink
from gearshift_hub.hub.traefik import static_file
from gearshift_hub.paths import Home, Ports
from gearshift_hub.spawners.listening import answers
from gearshift_hub.supervisor.trouble import CannotStart


@dataclass(frozen=True)
class Part:
    """One process of ours."""

    name: str
    argv: list[str]
    env: dict[str, str]
    ready: Callable[[], Awaitable[bool]]


MakeParts = Callable[[Home, Path, Ports, Backend], list[Part]]


def parts(home: Home, deployment: Path, ports: Ports, backend: Backend = "local") -> list[Part]:
    """In the order of starting; each waits by itself for what it needs. On a cluster nothing is forked here."""
    env = _environment(home, deployment)

    async def forkserver_ready() -> bool:
        return home.forkserver_socket.exists()

    async def control_ready() -> bool:
        return await ControlLink(home).healthy()

    async def traefik_ready() -> bool:
        return await answers(ports.traefik_api_port)

    async def hub_ready() -> bool:
        return await _hub_answers(ports)

    config = str(data.path("jupyterhub_config.py"))
    root = str(home.root)
    forkserver = [
        Part(
            "forkserver",
            _module("gearshift_hub.backends.local.forkserver", "--home", root),
            env,
            forkserver_ready,
        ),
    ]
    return [
        *(forkserver if backend == "local" else ()),
        Part("control", _module("gearshift_hub.control"), env, control_ready),
        Part("traefik", [_traefik(), "--configfile", str(static_file(home))], env, traefik_ready),
        Part("hub", _module("gearshift_hub.hub", "-f", config), env, hub_ready),
    ]


def _module(name: str, *rest: str) -> list[str]:
    """Run one of our modules; -P keeps the caller's folder off the import path."""
    return [sys.executable, "-P", "-m", name, *rest]


def _environment(home: Home, deployment: Path) -> dict[str, str]:
    bin_folder = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "JUPYTERHUB_XSRF_ANONYMOUS_IP_CIDRS": "0.0.0.0/0;::/0",  # no form depends on the address it came from (C51)
        "PATH": f"{bin_folder}:{os.environ.get('PATH', os.defpath)}",
        "GEARSHIFT_HOME": str(home.root),
        "GEARSHIFT_DEPLOYMENT": str(deployment),
        "PYTHONUNBUFFERED": "1",
    }


def _traefik() -> str:
    beside = Path(sys.executable).parent / "traefik"
    found = str(beside) if beside.exists() else shutil.which("traefik")
    if not found:
        raise CannotStart(
            "The proxy `traefik` is not installed. Install Gearshift with its extra: gearshift[hub]."
        )
    return found


async def _hub_answers(ports: Ports) -> bool:
    """The hub and control answer, both through the proxy."""
    try:
        async with httpx.AsyncClient(timeout=2.0, trust_env=False) as client:
            hub = await client.get(f"{ports.url}hub/api/")
            control = await client.get(f"{ports.url}services/gearshift/alive")
    except httpx.TransportError:
        return False
    return (hub.status_code, control.status_code) == (200, 204)
