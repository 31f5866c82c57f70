"""Reads a control group's use and limits, version 1 or 2; a file that is missing makes its figure unknown."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

_UNLIMITED = 1 << 60


@dataclass(frozen=True)
class Group:
    """Folders of the controllers by name; version 2 has one folder under the empty name."""

    folders: dict[str, Path] = field(default_factory=dict)

    def memory_bytes(self) -> int | None:
        """Without file pages that are given back when needed."""
        used = _number(self._file("memory", "memory.usage_in_bytes", "memory.current"))
        cached = _row(
            self._file("memory", "memory.stat", "memory.stat"), ("total_inactive_file", "inactive_file")
        )
        return None if used is None else max(used - (cached or 0), 0)

    def memory_limit_bytes(self) -> int | None:
        limit = _number(self._file("memory", "memory.limit_in_bytes", "memory.max"))
        return None if limit is None or limit >= _UNLIMITED else limit

    def peak_bytes(self) -> int | None:
        return _number(self._file("memory", "memory.max_usage_in_bytes", "memory.peak"))

    def kills(self) -> int | None:
        """Processes that the memory limit has killed so far."""
        return _row(self._file("memory", "memory.oom_control", "memory.events"), ("oom_kill",))

    def cpu_seconds(self) -> float | None:
        old = _number(self._file("cpuacct", "cpuacct.usage", ""))
        new = _row(self._file("", "", "cpu.stat"), ("usage_usec",))
        return old / 1e9 if old is not None else None if new is None else new / 1e6

    def cpus(self) -> float | None:
        quota = _number(self._file("cpu", "cpu.cfs_quota_us", ""))
        period = _number(self._file("cpu", "cpu.cfs_period_us", ""))
        if quota is None:
            parts = _text(self._file("", "", "cpu.max")).split()
            quota, period = (
                (int(parts[0]), int(parts[1])) if len(parts) == 2 and parts[0] != "max" else (None, None)
            )
        return quota / period if quota and period and quota > 0 else None

    def _file(self, controller: str, old: str, new: str) -> Path | None:
        if controller in self.folders and old:
            return self.folders[controller] / old
        return self.folders[""] / new if "" in self.folders and new else None


def own_group(listing: Path, mount: Path) -> Group | None:
    """The group made for this workspace; None where the process is in none of ours."""
    folders: dict[str, Path] = {}
    for line in _text(listing).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not any(part.startswith("gearshift") for part in path.split("/")):
            continue
        for name in controllers.split(","):
            folder = mount / controllers / path.lstrip("/") if name else mount / path.lstrip("/")
            other = mount / name / path.lstrip("/") if name else mount / "unified" / path.lstrip("/")
            found = next((place for place in (folder, other) if os.access(place, os.R_OK | os.X_OK)), None)
            if found is not None:
                folders[name] = found
    group = Group(folders)
    return group if group.memory_bytes() is not None and group.cpu_seconds() is not None else None


def _text(path: Path | None) -> str:
    try:
        return path.read_text() if path is not None else ""
    except OSError:
        return ""


def _number(path: Path | None) -> int | None:
    text = _text(path).strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _row(path: Path | None, names: tuple[str, ...]) -> int | None:
    rows = dict(line.split(None, 1) for line in _text(path).splitlines() if " " in line)
    return next((int(rows[name]) for name in names if name in rows), None)
