"""Every address of ours that a request can reach, taken from the routers themselves, so that none is forgotten."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fastapi.routing import APIRoute, iter_route_contexts
from gearshift.lab import environment
from gearshift.lab.activity import ActivityReader
from gearshift.lab.allowed import ALLOWED
from gearshift.lab.documents.setup import Documents
from gearshift.lab.extension import own_routes
from gearshift.lab.gate import Gate
from gearshift.lab.memory.guard import MemoryGuard
from gearshift.lab.proxy import ProxyHandler
from gearshift.lab.restoring import Restorer
from gearshift_hub.control.app import API, public_routes
from gearshift_hub.control.auth import CHECKS, READING, may

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Endpoint:
    """One method of one path; places to fill are in braces."""

    method: str
    path: str
    kind: Literal["api", "page", "open"]
    """`api` tokens and cookies, `page` cookies only, `open` for anybody."""
    check: str
    """What the route asks of its caller, by the name it has in `may`."""

    @property
    def changes(self) -> bool:
        return self.method not in READING

    def filled(self, **names: str) -> str:
        """With a name in each place: those given, else `x`."""
        path, places = self.path, self.path.count("{")
        for _ in range(places):
            before, _, rest = path.partition("{")
            place, _, after = rest.partition("}")
            path = f"{before}{names.get(place, 'x')}{after}"
        return path


def of_control() -> list[Endpoint]:
    """Paths below `services/gearshift`."""
    return sorted(_control(), key=lambda one: (one.path, one.method))


def of_lab() -> list[Endpoint]:
    """Paths below a workspace's own address."""
    return sorted(_lab(), key=lambda one: (one.path, one.method))


def _control() -> Iterator[Endpoint]:
    for route in iter_route_contexts(public_routes("").routes):
        assert isinstance(route.original_route, APIRoute), route.path
        for method in route.methods:
            calls = [found.call for found in route.dependant.dependencies if found.call in CHECKS]
            check = calls[0].__name__ if calls else "nothing"
            kind: Literal["api", "page", "open"] = "api" if route.path.startswith(API) else "page"
            yield Endpoint(method, route.path, "open" if calls == [may.anyone] else kind, check)


def _lab() -> Iterator[Endpoint]:
    with tempfile.TemporaryDirectory() as folder:
        lab = environment.read({"GEARSHIFT_STATE_DIR": str(Path(folder) / "state")})
        routes = own_routes(
            "/",
            None,
            lab,
            Restorer(None, lab, Gate()),
            Documents(None, lab),
            MemoryGuard(None, lab),
            ActivityReader(None, lab),
        )
    for pattern, handler, _ in routes:
        if handler is ProxyHandler:
            continue
        for method in METHODS:
            if method in vars(handler):
                yield Endpoint(method.upper(), pattern.lstrip("/"), "api", "signed_in")
    for method, pattern in ALLOWED:
        named = pattern.replace("workspaces/*/*", "workspaces/{owner}/{name}").replace("*", "{part}")
        yield Endpoint(method, f"gearshift/api/{named}", "api", "signed_in")
