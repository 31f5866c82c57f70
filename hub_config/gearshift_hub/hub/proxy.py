"""Traefik as our proxy: its settings, two fixes that make adding a route fast (facts-hub 1.3), and control's stand-in."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import bcrypt
from jupyterhub_traefik_proxy.fileprovider import TraefikFileProviderProxy
from traitlets import Unicode

from gearshift_hub.hub import away
from gearshift_hub.hub.traefik import rules_file, static_file
from gearshift_hub.paths import Home, Ports, Secrets
from gearshift_hub.scopes import SERVICE

API_USER = "gearshift"
POLL_S = 0.02
PATIENCE = "20s"
"""A control that is slow is not away; one that is gone refuses the connection, which is seen at the next check."""


class FastTraefik(TraefikFileProviderProxy):  # type: ignore[misc]
    """Waits for a route with short even polls instead of a back-off; asks control whether it is there, and while it is
    not, leads what is control's to the hub."""

    service_path = Unicode(config=True)
    """The path under which control is served, with a slash at the end."""
    away_url = Unicode(config=True)
    """Where the hub answers in its place."""

    def _dynamic_config_for_route(self, routespec: str, target: str, data: Any) -> Any:
        traefik, jupyterhub = super()._dynamic_config_for_route(routespec, target, data)
        if routespec == self.service_path:
            services = traefik["http"]["services"]
            (name,) = services
            services.update(standing_in(name, target, f"{self.service_path}alive", self.away_url))
        return traefik, jupyterhub

    async def _wait_for_route(self, routespec: str) -> None:
        deadline = time.monotonic() + self.check_route_timeout
        while not await self._registered(routespec):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the proxy did not take the route {routespec}")
            await asyncio.sleep(POLL_S)

    async def _registered(self, routespec: str) -> bool:
        service = await self._check_for_traefik_service(routespec, "service")
        return bool(service) and bool(await self._check_for_traefik_service(routespec, "router"))


def standing_in(name: str, target: str, alive: str, away: str) -> dict[str, Any]:
    """Traefik's service of this name: the target while its health check passes, else `away` with the path after it."""
    check = {"path": alive, "interval": "1s", "unhealthyInterval": "100ms", "timeout": PATIENCE}
    away_server = {"url": away, "preservePath": True}
    return {
        name: {"failover": {"service": f"{name}-there", "fallback": f"{name}-away"}},
        f"{name}-there": {"loadBalancer": {"servers": [{"url": target}], "healthCheck": check}},
        f"{name}-away": {"loadBalancer": {"servers": [away_server]}},
    }


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
    c.FastTraefik.service_path = f"{ports.base_url}services/{SERVICE}/"
    c.FastTraefik.away_url = f"http://127.0.0.1:{ports.hub_port}{ports.base_url}hub/{away.ROUTE}"
    traefik.static_config_file = str(static_file(home))
    traefik.dynamic_config_file = str(rules_file(home))
