"""Traefik as our proxy: its settings, and the two fixes that make adding a route fast (facts-hub 1.3)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import bcrypt
from jupyterhub_traefik_proxy.fileprovider import TraefikFileProviderProxy

from gearshift_hub.hub.traefik import rules_file, static_file
from gearshift_hub.paths import Home, Ports, Secrets

API_USER = "gearshift"
POLL_S = 0.02


class FastTraefik(TraefikFileProviderProxy):  # type: ignore[misc]
    """Waits for a route with short even polls instead of a back-off."""

    async def _wait_for_route(self, routespec: str) -> None:
        deadline = time.monotonic() + self.check_route_timeout
        while not await self._registered(routespec):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the proxy did not take the route {routespec}")
            await asyncio.sleep(POLL_S)

    async def _registered(self, routespec: str) -> bool:
        service = await self._check_for_traefik_service(routespec, "service")
        return bool(service) and bool(await self._check_for_traefik_service(routespec, "router"))


def cheap_hash(password: str) -> str:
    """A bcrypt hash of the lowest cost: the password is 32 random bytes and checked at each API call."""
    return bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(rounds=4)).decode()


def apply_proxy(c: Any, home: Home, ports: Ports, secrets: Secrets) -> None:
    """The hub's side of it: the supervisor owns the process, the hub writes the routes."""
    c.JupyterHub.proxy_class = FastTraefik
    c.Proxy.should_start = False
    traefik = c.TraefikFileProviderProxy
    traefik.traefik_api_url = f"http://127.0.0.1:{ports.traefik_api_port}"
    traefik.traefik_api_username = API_USER
    traefik.traefik_api_password = secrets.traefik_password
    traefik.traefik_api_hashed_password = cheap_hash(secrets.traefik_password)
    traefik.traefik_entrypoint = "http"
    traefik.static_config_file = str(static_file(home))
    traefik.dynamic_config_file = str(rules_file(home))
