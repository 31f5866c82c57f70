"""What is queued and running, kept in a file: a new server runs on what the old one had waiting."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from gearshift.lab.manifest import write_json


@dataclass(frozen=True)
class Order:
    """One cell to be run: the code as it was when it was sent."""

    kernel: str
    document: str
    cell: str
    code: str


class Memory:
    """Cells that wait, in order."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "queue.json"

    def write(self, waiting: Iterable[Order]) -> None:
        write_json(self._file, {"waiting": [asdict(order) for order in waiting]})

    def read(self) -> tuple[Order, ...]:
        """What is damaged counts as nothing: a queue is run again by a person, not guessed."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return tuple(Order(**order) for order in found["waiting"])
        except (OSError, ValueError, KeyError, TypeError):
            return ()
