"""The composition root: builds the public and the internal app around one Context."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from gearshift_hub.control import errors
from gearshift_hub.control.auth import Callers
from gearshift_hub.control.context import Context
from gearshift_hub.control.doorstep import Doorstep
from gearshift_hub.control.operations import waitlist as waitlist_part
from gearshift_hub.control.reconcile import jobs as job_loop
from gearshift_hub.control.routes import (
    datasets,
    disks,
    events,
    idle,
    incidents,
    internal,
    internal_accounts,
    jobs,
    ledger,
    me,
    pages,
    plans,
    signin,
    states,
    waitlist,
    workspaces,
)
from gearshift_hub.control.sealing import Sealer
from gearshift_hub.control.services import datasets as dataset_service
from gearshift_hub.control.services import disks as disk_service
from gearshift_hub.control.services import images as image_service
from gearshift_hub.control.services import jobs as job_service
from gearshift_hub.control.services.sign_in import Hashing

API = "/api/v1"


def plug(ctx: Context) -> None:
    """Let each part register its plan kinds, flows, hooks and loops; disks and jobs where the backend has them."""
    able = ctx.backend.box.able()
    wanted = [image_service, dataset_service, waitlist_part]
    wanted += [disk_service] if able.disks else []
    wanted += [job_service, job_loop] if able.jobs else []
    for part in wanted:
        part.plug(ctx)


def public_app(ctx: Context) -> FastAPI:
    """What people, pages and servers reach, through the proxy."""
    app = _app(ctx)
    app.include_router(public_routes(ctx.prefix))
    return app


def public_routes(prefix: str) -> APIRouter:
    """All of them; the tests walk this list."""
    routes, api = APIRouter(), APIRouter(prefix=f"{prefix}{API}")
    nouns = (me, workspaces, states, idle, incidents, plans, events, ledger, disks, datasets, jobs, waitlist)
    for noun in nouns:
        api.include_router(noun.router)
    routes.include_router(api)
    for below_service in (signin, pages):
        routes.include_router(below_service.router, prefix=prefix)
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
    app.state.hashing = Hashing()
    errors.install(app)
    app.add_middleware(Doorstep)
    return app
