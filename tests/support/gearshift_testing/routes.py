"""Knows control's public routes as the reference page lists them: method, path, who may, what it does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from fastapi.routing import RouteContext, iter_route_contexts
from gearshift_hub.control.app import API, public_app
from gearshift_hub.control.auth import CHECKS


class Route(NamedTuple):
    """One line of the page."""

    method: str
    path: str
    may: str
    does: str


def public_routes() -> list[Route]:
    """All routes of the API, by path."""
    app = public_app(cast(Any, SimpleNamespace(prefix="", secret="for the list only")))
    found = [
        Route(method, route.path.removeprefix(API), check_of(route), first_line(route))
        for route in iter_route_contexts(app.routes)
        if route.path.startswith(API)
        for method in sorted(route.methods)
    ]
    return sorted(found, key=lambda route: (route.path, route.method))


def first_line(route: RouteContext) -> str:
    return (route.endpoint.__doc__ or "").strip().splitlines()[0]


def check_of(route: RouteContext) -> str:
    calls = {dependency.call for dependency in route.dependant.dependencies}
    return next((check.__name__ for check in CHECKS if check in calls), "nobody")
