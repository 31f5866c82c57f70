"""Tells control what happened over memory, so that pages hear of it also when this server is gone, and history keeps it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from urllib.parse import quote

import httpx

from gearshift.lab.environment import LabEnvironment
from gearshift.lab.memory.incidents import Incident
from gearshift.lab.proxy import ControlClient
from gearshift.model.errors import GearshiftError

PAUSES_S = (0.5, 2.0, 8.0, 30.0)
"""Control that is away is back within seconds; what is not heard then is still in this server's own list."""


class ControlTeller:
    """One for each server."""

    def __init__(self, environment: LabEnvironment, pauses_s: Sequence[float] = PAUSES_S) -> None:
        self._control = ControlClient(environment)
        owner, workspace = (quote(name, safe="@~") for name in (environment.owner, environment.workspace))
        self._path = f"workspaces/{owner}/{workspace}/incidents"
        self._pauses_s = pauses_s

    async def tell(self, incident: Incident) -> bool:
        """Whether it was heard; a refusal is an answer and is not tried again."""
        for pause in (0.0, *self._pauses_s):
            await asyncio.sleep(pause)
            try:
                return await self._once(incident)
            except (httpx.HTTPError, GearshiftError):
                continue
        return False

    async def _once(self, incident: Incident) -> bool:
        plain = {k: v for k, v in incident.facts.items() if v is None or isinstance(v, str | int | float)}
        body = {
            "id": incident.id,
            "code": incident.code,
            "kernel_id": incident.kernel_id,
            "path": incident.path,
            "facts": plain,
        }
        headers = {"Content-Type": "application/json"}
        content = json.dumps(body).encode()
        async with self._control.request("POST", self._path, headers=headers, content=content) as answer:
            if answer.status_code >= 500:
                answer.raise_for_status()
            return bool(answer.is_success)
