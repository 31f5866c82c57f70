"""Knows our side: a real `gearshift up` in a folder of its own, people, workspaces and switches over the public door."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/support"))

from gearshift.client import Caps, Client
from gearshift.model.operation import Operation, OperationState
from gearshift.train.gang import doorbell
from gearshift_hub.backends.local import standbys
from gearshift_hub.backends.local.processes import Trees
from gearshift_testing import running as product

from benchmarks.measure import CannotMeasure

CAPS = Caps(10**13, 10**13)
IMAGE = "pytorch"


class Ours:
    """A running deployment; `close()` leaves no process and no folder."""

    def __init__(self) -> None:
        self.running = product.start(product.DEPLOYMENT)
        self.tokens: dict[str, str] = {}

    def client(self, user: str) -> Client:
        self.tokens.setdefault(user, self.running.sign_in(user))
        return Client(self.running.url, self.tokens[user])

    def start(self, user: str, machine: str = "cpu-small", name: str = "bench") -> str:
        """The address of a workspace that is ready."""
        self._do(user, "start", name=name, spec={"image": IMAGE, "machine": machine})
        return self.running.server(user, name)

    def switch(self, user: str, machine: str, name: str = "bench") -> Operation:
        return self._do(user, "switch", workspace=f"{user}/{name}", machine=machine)

    def end_standbys(self) -> None:
        """Nothing waits for the next job, as before anybody's first one."""
        for tree in self._standbys():
            Trees(self.running.home).kill(tree)

    def wait_for_standby(self) -> None:
        """One waits, ready, for the next job."""
        folder = self.running.home.jobs / "standby"
        self._until(lambda: any(doorbell.is_waited_at(folder / tree) for tree in self._standbys()))

    def _standbys(self) -> list[str]:
        return [
            tree.name for tree in Trees(self.running.home).trees() if tree.name.startswith(standbys.PREFIX)
        ]

    def _until(self, ready: Callable[[], object], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline:
                raise CannotMeasure("no standby came; is the box short of memory?")
            time.sleep(0.02)

    def stop(self, user: str, name: str = "bench") -> None:
        self._do(user, "stop", workspace=f"{user}/{name}")

    def _do(self, user: str, kind: str, **body: object) -> Operation:
        operation = self.client(user).do(kind, CAPS, 300, **body)
        if operation.state is not OperationState.DONE:
            raise RuntimeError(f"{kind} ended {operation.state}: {operation.error}")
        return operation

    def close(self) -> None:
        self.running.stop()
        self.running.remove()
        self.running.output.unlink(missing_ok=True)
