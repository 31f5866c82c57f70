"""Puts the app of a workspace into its server; without one nothing of this is imported."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gearshift.lab.apps.handlers import routes
from gearshift.lab.apps.process import AppProcess
from gearshift.lab.environment import LabEnvironment
from gearshift.model.app import APP_ENV, APP_PATH, APP_PORT_ENV, App


def add(server: Any, environment: LabEnvironment, used: Callable[[], None]) -> None:
    """Its routes, and its start once the server runs; `used` hears of what a person does there."""
    base = server.web_app.settings["base_url"]
    process = AppProcess(
        App.model_validate_json(os.environ[APP_ENV]),
        base=f"{base}{APP_PATH}",
        port=int(os.environ.get(APP_PORT_ENV) or 0),
        runtime=Path(server.runtime_dir),
        state=environment.state_dir,
        home=Path.home(),
    )
    running: set[asyncio.Task[None]] = set()

    def start(one: AppProcess) -> None:
        task = asyncio.ensure_future(_started(server, one))
        running.add(task)
        task.add_done_callback(running.discard)

    server.web_app.settings["gearshift_app_start"] = start
    server.web_app.add_handlers(".*$", routes(base, process, used))
    server.io_loop.add_callback(start, process)


async def _started(server: Any, process: AppProcess) -> None:
    """A program that is not there is told on the page like one that ended."""
    try:
        await process.start()
    except OSError as error:
        process.refused(f"{error.strerror}: {error.filename}")
        server.log.warning("The app %s did not start: %s", process.app.id, error)
