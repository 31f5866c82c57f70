"""Puts the extension together: routes before the server's own, a restore at start where one is asked for.

Importing it opens nothing and starts nothing, so a warm server may fork with it loaded.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from jupyter_server.utils import url_path_join

from gearshift.lab import control_door
from gearshift.lab import environment as lab_environment
from gearshift.lab.activity import ActivityHandler, ActivityReader, UsedHandler
from gearshift.lab.documents.setup import Documents
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.gate import Gate, held_routes
from gearshift.lab.in_flight import InFlight
from gearshift.lab.machine_route import MachineHandler
from gearshift.lab.memory.guard import MemoryGuard
from gearshift.lab.memory.routes import MemoryHandler, MetricsHandler, SeenHandler
from gearshift.lab.metrics import Sampler
from gearshift.lab.proxy import ControlClient, ProxyHandler, TicketHandler
from gearshift.lab.restoring import Restorer
from gearshift.lab.saving import Saver
from gearshift.lab.shared_state_routes import BringInHandler, LookAtHandler, SharedStatesHandler
from gearshift.lab.state_routes import HealthHandler, PlanHandler, ReportHandler, RestoreHandler, SaveHandler
from gearshift.lab.thread_pools import ThreadPools
from gearshift.model.app import APP_ENV
from gearshift.model.errors import GearshiftError


def extension_points() -> list[dict[str, str]]:
    """What jupyter_server asks of the package."""
    return [{"module": "gearshift.lab"}]


def load_extension(server: Any) -> None:
    """Called once by jupyter_server, after its own set-up and before it listens."""
    environment = lab_environment.read()
    gate = Gate()
    restorer = Restorer(server, environment, gate)
    documents = Documents(server, environment)
    guard = MemoryGuard(server, environment)
    app = server.web_app
    app.settings["gearshift_gate"] = gate
    app.settings[control_door.SETTING] = environment.door_key
    base = app.settings["base_url"]
    app.add_handlers(".*$", held_routes(base))
    activity = ActivityReader(server, environment)
    app.add_handlers(".*$", own_routes(base, server, environment, restorer, documents, guard, activity))
    app.add_handlers(".*$", documents.routes(base, gate))
    if os.environ.get(APP_ENV):
        _add_app(server, environment, activity)
    server.io_loop.add_callback(guard.run)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if environment.restore:
        gate.hold()
        server.io_loop.add_callback(_restore_at_start, server, restorer, gate, environment, documents)
    else:
        documents.not_restored()


def own_routes(
    base: str,
    server: Any,
    environment: LabEnvironment,
    restorer: Restorer,
    documents: Documents,
    guard: MemoryGuard,
    activity: ActivityReader,
) -> list[Any]:
    """What this extension answers; the tests walk this list."""
    control, saver, in_flight = ControlClient(environment), Saver(server, environment), InFlight()
    routes = [
        (r"api/(.*)", ProxyHandler, {"control": control, "in_flight": in_flight}),
        (r"ticket", TicketHandler, {"control": control, "environment": environment}),
        (r"metrics", MetricsHandler, {"sampler": Sampler(environment), "guard": guard}),
        (r"memory", MemoryHandler, {"guard": guard}),
        (r"memory/seen", SeenHandler, {"guard": guard}),
        (r"machine", MachineHandler, {"machine": environment.now, "pools": ThreadPools(server)}),
        (r"activity", ActivityHandler, {"reader": activity}),
        (r"used", UsedHandler, {"reader": activity}),
        (r"health", HealthHandler, {"server": server, "restorer": restorer}),
        (r"state/plan", PlanHandler, {"saver": saver}),
        (r"state/save", SaveHandler, {"saver": saver, "in_flight": in_flight, "documents": documents}),
        (r"state/restore", RestoreHandler, {"restorer": restorer}),
        (r"state/report", ReportHandler, {"environment": environment}),
        (r"state/shared", SharedStatesHandler, {"environment": environment}),
        (r"state/shared/look", LookAtHandler, {"environment": environment}),
        (r"state/shared/bring-in", BringInHandler, {"environment": environment, "running": {}}),
    ]
    return [(url_path_join(base, "gearshift", pattern), handler, given) for pattern, handler, given in routes]


def _add_app(server: Any, environment: LabEnvironment, activity: ActivityReader) -> None:
    """Half a second of imports that a workspace without an app does without."""
    from gearshift.lab.apps import setup  # noqa: PLC0415

    setup.add(server, environment, activity.used)


async def _restore_at_start(
    server: Any, restorer: Restorer, gate: Gate, environment: LabEnvironment, documents: Documents
) -> None:
    """Pages wait for it; control asks for its report. What fails is told there, and the server goes on empty."""
    assert environment.restore is not None
    try:
        await restorer.restore(environment.restore, state=environment.restore_state)
        documents.restored()
    except GearshiftError as error:
        server.log.warning("Kernel state of %s: %s", environment.restore_state, error.message)
        documents.not_restored()
    finally:
        gate.release()
