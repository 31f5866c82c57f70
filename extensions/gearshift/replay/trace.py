"""Reads a trace of use: one row each time something changed in a workspace; it holds until the workspace's next row.

Columns: `workspace`, `at` (ISO, UTC), `accelerators` (held while it runs), `kernel` (busy kernels), `terminal` (with
something running), `job` (running), `page` (open), `used` (1: a person is at it), `output` (1: cells print), `cpu` (share
of the machine's cores), `chip` (share of the accelerators). The last row of a workspace is when its owner stopped it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from gearshift.model.idle import Activity
from gearshift.model.units import from_iso

COLUMNS = (
    "workspace", "at", "accelerators", "kernel", "terminal", "job", "page", "used", "output", "cpu", "chip",
)  # fmt: skip


class TraceError(ValueError):
    """The trace cannot be read; says in which line and why."""


@dataclass(frozen=True)
class Row:
    """What holds in one workspace from `at` on."""

    workspace: str
    at: datetime
    accelerators: int
    kernel: int
    terminal: int
    job: int
    page: int
    used: bool
    output: bool
    cpu: float
    chip: float

    @property
    def computes(self) -> bool:
        """Something runs that its owner would miss."""
        return bool(self.kernel or self.terminal or self.job or self.chip > 0 or self.cpu > 0)

    def activity(self, now: datetime) -> Activity:
        """What its server would say at `now`."""
        return Activity(
            at=now,
            busy_kernels=self.kernel,
            terminals=self.terminal,
            jobs=self.job,
            pages=self.page,
            cpu_share=self.cpu,
            chip_share=self.chip,
            used_at=now if self.used else None,
        )


def read(lines: Iterable[str]) -> dict[str, list[Row]]:
    """The rows of each workspace in the order of time; raises TraceError."""
    reader = csv.DictReader(lines)
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise TraceError(f"line 1: missing columns {', '.join(missing)}; needed are {', '.join(COLUMNS)}")
    found: dict[str, list[Row]] = {}
    for number, raw in enumerate(reader, 2):
        row = _row(number, raw)
        held = found.setdefault(row.workspace, [])
        if held and row.at <= held[-1].at:
            raise TraceError(f"line {number}: {row.workspace} goes back in time")
        held.append(row)
    return found


def spans(rows: list[Row]) -> Iterator[tuple[Row, datetime]]:
    """Each row and when it ends; the last one only ends the one before it."""
    for row, following in pairwise(rows):
        yield row, following.at


def _row(number: int, raw: dict[str, str]) -> Row:
    try:
        row = Row(
            workspace=raw["workspace"],
            at=from_iso(raw["at"]),
            accelerators=int(raw["accelerators"]),
            kernel=int(raw["kernel"]),
            terminal=int(raw["terminal"]),
            job=int(raw["job"]),
            page=int(raw["page"]),
            used=bool(int(raw["used"])),
            output=bool(int(raw["output"])),
            cpu=float(raw["cpu"]),
            chip=float(raw["chip"]),
        )
    except (ValueError, TypeError) as error:
        raise TraceError(f"line {number}: {error}") from error
    if not (row.workspace and row.accelerators >= 0 and 0 <= row.cpu <= 1 and 0 <= row.chip <= 1):
        raise TraceError(f"line {number}: a count is negative or a share is not between 0 and 1")
    return row
