"""Listens to what one kernel tells all its clients, to know which cell it is running when it dies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

SHOWN = 2000


@dataclass(frozen=True)
class Cell:
    """What was sent to the kernel: its number and its source."""

    count: int | None
    source: str

    @property
    def first_line(self) -> str:
        return next((line.strip() for line in self.source.splitlines() if line.strip()), "")[:80]


class RunningCell:
    """`cell` is what runs now, or ran when the kernel was last heard."""

    def __init__(self, manager: Any) -> None:
        self.cell: Cell | None = None
        self.is_heard = False
        """Messages reach us; before that a cell may have begun unheard."""
        self._session = manager.session
        self._stream = manager.connect_iopub()
        self._stream.on_recv(self._heard)

    def close(self) -> None:
        if not self._stream.closed():
            self._stream.on_recv(None)
            self._stream.close()

    def _heard(self, frames: list[bytes]) -> None:
        """Only what is needed is read: outputs may be large, and are nobody's business here."""
        _, rest = self._session.feed_identities(frames, copy=True)
        self.is_heard = True
        kind = json.loads(rest[1])["msg_type"]
        if kind == "execute_input":
            content = json.loads(rest[4])
            self.cell = Cell(content.get("execution_count"), str(content.get("code", ""))[:SHOWN])
        elif kind == "status" and _ends_a_cell(json.loads(rest[2]), json.loads(rest[4])):
            self.cell = None


def _ends_a_cell(parent: dict[str, Any], content: dict[str, Any]) -> bool:
    return parent.get("msg_type") == "execute_request" and content.get("execution_state") == "idle"
