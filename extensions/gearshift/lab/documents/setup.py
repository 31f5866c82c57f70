"""Puts the shared documents together with their executor, where the deployment has them on the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jupyter_server.utils import url_path_join

from gearshift.lab.environment import LabEnvironment
from gearshift.lab.gate import Gate

FOLDER = "documents"
"""Below the state folder of the workspace: the update store, the ids of files, the session and the queue. They belong
together: with one of them gone, pages and files part company (facts-lab 8)."""


class Documents:
    """Without shared documents on this server each method does nothing."""

    def __init__(self, server: Any, environment: LabEnvironment) -> None:
        self.executor: Any = None
        if server is None or not server.jpserver_extensions.get("jupyter_server_ydoc"):
            return
        from gearshift.lab.documents import session_id  # noqa: PLC0415 - the next three need pycrdt
        from gearshift.lab.documents.cell_costs import CellCosts  # noqa: PLC0415
        from gearshift.lab.documents.executor import Executor  # noqa: PLC0415
        from gearshift.lab.documents.update_store import UpdateStore  # noqa: PLC0415

        folder = environment.state_dir / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        UpdateStore.folder = folder
        session_id.use(folder)
        self.executor = Executor(server, folder, CellCosts(environment))

    def routes(self, base: str, gate: Gate) -> list[Any]:
        """To be placed before those of jupyter_server_ydoc."""
        if self.executor is None:
            return []
        from gearshift.lab.documents import routes  # noqa: PLC0415

        executor = {"executor": self.executor}
        found = [
            (r"gearshift/documents/execute", routes.ExecuteHandler, {**executor, "gate": gate}),
            (r"gearshift/documents/answer", routes.AnswerHandler, executor),
            (r"gearshift/documents/stay", routes.StayHandler, executor),
            routes.room_route(self.executor),
        ]
        return [(url_path_join(base, pattern), handler, given) for pattern, handler, given in found]

    def restored(self) -> None:
        """Kernels are back: what waited for them is run."""
        if self.executor is not None:
            self.executor.resume()

    def not_restored(self) -> None:
        if self.executor is not None:
            self.executor.forget()

    @asynccontextmanager
    async def held(self, leaving: bool) -> AsyncIterator[None]:
        """While kernels are saved no further cell begins. When the server is to be stopped after that, its documents are
        closed as well, until it is stopped or told to stay."""
        if self.executor is None:
            yield
            return
        self.executor.hold()
        try:
            yield
            if leaving:
                await self.executor.leave()
        except BaseException:
            leaving = False
            raise
        finally:
            if not leaving:
                await self.executor.stay()
