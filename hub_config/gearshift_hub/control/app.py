"""The composition root: builds the public and the internal app around one Context."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from fastapi import APIRouter, FastAPI

from gearshift_hub.control import errors
from gearshift_hub.control.auth import Callers
from gearshift_hub.control.context import Context
from gearshift_hub.control.doorstep import Doorstep
from gearshift_hub.control.routes import (
    events,
    internal,
    internal_accounts,
    ledger,
    me,
    plans,
    signin,
    workspaces,
)
from gearshift_hub.control.sealing import Sealer

API = "/api/v1"
PLUGGED = (
    "gearshift_hub.control.services.disks",
    "gearshift_hub.control.services.datasets",
    "gearshift_hub.control.services.jobs",
    "gearshift_hub.control.reconcile.jobs",
)
"""Modules with a `plug(ctx)`: they register plan kinds, flows, hooks and loops."""
ROUTED = (
    "gearshift_hub.control.routes.disks",
    "gearshift_hub.control.routes.datasets",
    "gearshift_hub.control.routes.jobs",
)
"""Modules with a `router` below `/api/v1`."""
PAGES = ("gearshift_hub.control.routes.pages",)
"""Modules with a `router` directly below `/services/gearshift`."""


def plug(ctx: Context) -> None:
    """Let every part register itself."""
    for module in _present(PLUGGED):
        module.plug(ctx)


def public_app(ctx: Context) -> FastAPI:
    """What people, pages and servers reach, through the proxy."""
    app = _app(ctx)
    app.include_router(public_routes(ctx.prefix))
    return app


def public_routes(prefix: str) -> APIRouter:
    """All of them; the tests walk this list."""
    routes, api = APIRouter(), APIRouter(prefix=f"{prefix}{API}")
    for ours in (me, workspaces, plans, events, ledger):
        api.include_router(ours.router)
    for module in _present(ROUTED):
        api.include_router(module.router)
    routes.include_router(api)
    for module in (signin, *_present(PAGES)):
        routes.include_router(module.router, prefix=prefix)
    return routes


def internal_app(ctx: Context) -> FastAPI:
    """What the hub and the command line reach, on a socket that only we can open."""
    app = _app(ctx)
    app.include_router(internal.router)
    app.include_router(internal_accounts.router)
    return app


def _app(ctx: Context) -> FastAPI:
    app = FastAPI(title="Gearshift control", version="1", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.ctx = ctx
    app.state.callers = Callers()
    app.state.sealer = Sealer(ctx.secret)
    errors.install(app)
    app.add_middleware(Doorstep)
    return app


def _present(names: tuple[str, ...]) -> list[ModuleType]:
    return [importlib.import_module(name) for name in names if importlib.util.find_spec(name)]
