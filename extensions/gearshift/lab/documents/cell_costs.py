"""What a cell cost: asked of control when the cell has ended, and kept in it, whether a page is open or not."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from gearshift.lab.documents import shared_cell
from gearshift.lab.documents.run import CellRun
from gearshift.lab.environment import LabEnvironment
from gearshift.lab.proxy import ControlClient

log = logging.getLogger("gearshift.documents")

AGAIN_S = (1.0, 5.0, 20.0)
"""The ledger knows it later too: control may be away for a moment."""


class CellCosts:
    """Outside a hub nothing is charged, and nothing asked."""

    def __init__(self, environment: LabEnvironment) -> None:
        self._control = ControlClient(environment) if environment.control_url else None
        owner, workspace = (quote(name, safe="@~") for name in (environment.owner, environment.workspace))
        self._path = f"workspaces/{owner}/{workspace}/cost"
        self._tasks: set[asyncio.Task[None]] = set()

    def ended(self, run: CellRun) -> None:
        """Nobody waits for it: the next cell begins meanwhile."""
        if self._control is not None and run.span is not None:
            task = asyncio.create_task(self._keep(self._control, run, *run.span))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _keep(self, control: ControlClient, run: CellRun, begin: str, end: str) -> None:
        for pause in AGAIN_S:
            try:
                cost = await self._asked(control, begin, end)
            except (httpx.HTTPError, ValueError) as error:
                log.info("the cost of a cell could not be asked for: %r", error)
                await asyncio.sleep(pause)
                continue
            if cost.get("on"):
                run.show(shared_cell.keep_cost, cost, begin)
            return

    async def _asked(self, control: ControlClient, begin: str, end: str) -> dict[str, Any]:
        query = urlencode({"from": begin, "to": end})
        async with control.request("GET", self._path, headers={}, query=query) as answer:
            answer.raise_for_status()
            found: dict[str, Any] = json.loads(await answer.aread())
        return found
