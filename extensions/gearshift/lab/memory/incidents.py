"""What happened to kernels over memory: kept in the workspace's state folder, so that the next visit is told as well."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gearshift.lab import own_file
from gearshift.lab.manifest import write_json
from gearshift.model.errors import fail
from gearshift.model.units import to_iso

KEPT = 20


@dataclass(frozen=True)
class Incident:
    """One event with its sentence in both languages; `facts` are the figures that fill it."""

    code: str
    message: str
    message_zh: str
    kernel_id: str | None
    path: str
    cell: dict[str, Any] | None
    facts: dict[str, Any]
    id: str = field(default_factory=lambda: f"mem-{secrets.token_hex(6)}")
    at: str = field(default_factory=lambda: to_iso(datetime.now(UTC)))
    seen: bool = False

    @classmethod
    def of(
        cls, code: str, kernel_id: str | None, path: str, cell: dict[str, Any] | None, facts: dict[str, Any]
    ) -> Incident:
        """With the words of the table of errors."""
        said = fail(code, **facts)
        return cls(code, said.message, said.message_zh, kernel_id, path, cell, facts)


class Incidents:
    """The newest twenty, and what the person wants to happen just before the limit."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "memory.json"
        self._held, self.interrupt = _read(self._file)

    @property
    def all(self) -> tuple[Incident, ...]:
        """Oldest first."""
        return self._held

    @property
    def newest(self) -> str | None:
        return self._held[-1].id if self._held else None

    def add(self, incident: Incident) -> None:
        self._held = (*self._held, incident)[-KEPT:]
        self._write()

    def amend(self, incident: Incident) -> None:
        """The same event, better known."""
        self._held = tuple(
            replace(incident, seen=one.seen) if one.id == incident.id else one for one in self._held
        )
        self._write()

    def seen(self, ids: list[str]) -> None:
        """The person has read these; unknown ones are no fault: old ones are forgotten."""
        self._held = tuple(replace(one, seen=True) if one.id in ids else one for one in self._held)
        self._write()

    def choose(self, interrupt: bool) -> None:
        self.interrupt = interrupt
        self._write()

    def _write(self) -> None:
        write_json(
            self._file, {"interrupt": self.interrupt, "incidents": [asdict(one) for one in self._held]}
        )


def _read(file: Path) -> tuple[tuple[Incident, ...], bool]:
    """What cannot be read is as good as nothing: it is advice, not state."""
    try:
        with own_file.opened(file) as found:
            body = json.loads(found.read())
        return tuple(Incident(**one) for one in body["incidents"]), bool(body["interrupt"])
    except (own_file.NotOurs, OSError, ValueError, KeyError, TypeError):
        return (), False
