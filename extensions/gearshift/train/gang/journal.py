"""What the supervisor writes for others to read: status.json (whole, by rename), metrics/rank-N.jsonl (appended)."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gearshift.train.gang.failure import Failure
from gearshift.train.gang.members import Member

STATUS_FILE, METRICS_FOLDER = "status.json", "metrics"
BEAT_SECONDS = 5.0
MAX_LINE = 4096
MAX_METRICS_BYTES = 256 * 1024**2
"""Of all ranks together; what comes later is dropped."""
SIGN = "gearshift"
"""A line with this name in it is the runner's: what it waits for, or the error that it could not write down."""
RESERVE_BYTES = 1 << 16
FULL = (errno.ENOSPC, errno.EDQUOT)


class Journal:
    """The supervisor's memory on disk. A reader sees an old status or a new one, never half of one."""

    def __init__(
        self,
        out: Path,
        job: str,
        attempts: Sequence[Mapping[str, Any]] = (),
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._out = out
        self._wall = wall
        (out / METRICS_FOLDER).mkdir(exist_ok=True)
        self._reserve = out / ".reserve"
        self.waiting: dict[int, str] = {}
        """Ranks that reached us -> what each waits for, nothing once it runs its code."""
        self.errors: dict[int, dict[str, Any]] = {}
        """What ranks sent of their errors when they could not write them down."""
        self._files: dict[int, int] = {}
        self._written = 0
        self._partial: dict[int, bytes] = {}
        self._beat = 0.0
        self.status: dict[str, Any] = {
            "job": job,
            "state": "starting",
            "reason": None,
            "note": "",
            "attempt": int(attempts[-1]["attempt"]) + 1 if attempts else 0,
            "exit_code": None,
            "started_at": self._now(),
            "running_at": None,
            "ended_at": None,
            "ranks": [],
            "first_failure": None,
            "attempts": list(attempts),
            "checkpoint_step": None,
        }

    def say(self, **changes: Any) -> None:
        """Change the status and write it. A full disk is told too: some room was kept for that."""
        self.status |= changes
        self._beat = time.monotonic()
        try:
            self._write()
        except OSError as error:
            if error.errno not in FULL:
                raise
            self._reserve.unlink(missing_ok=True)
            with suppress(OSError):
                self._write()

    def keep_room(self) -> None:
        """Set something aside for the last words."""
        with suppress(OSError):
            self._reserve.write_bytes(b"\0" * RESERVE_BYTES)

    def _write(self) -> None:
        aside = self._out / f".{STATUS_FILE}.new"
        aside.write_text(json.dumps(self.status))
        aside.replace(self._out / STATUS_FILE)

    def running(self, attempt: int, members: list[Member]) -> None:
        first = self.status["running_at"] or self._now()
        self.say(state="running", note="", attempt=attempt, running_at=first, ranks=self.ranks(members))

    def ended(self, state: str, reason: str, exit_code: int) -> None:
        self._reserve.unlink(missing_ok=True)
        self.say(state=state, reason=reason, exit_code=exit_code, ended_at=self._now())

    def attempt_failed(
        self, attempt: int, reason: str, counts_as: str | None, failure: Failure | None
    ) -> None:
        record = {
            "attempt": attempt,
            "ended_at": self._now(),
            "reason": reason,
            "counts_as": counts_as,
            "first_failure": failure.as_json() if failure else None,
        }
        self.say(attempts=[*self.status["attempts"], record])

    def beat(self) -> None:
        """A sign of life: the status file's time moves at least each five seconds."""
        if time.monotonic() - self._beat >= BEAT_SECONDS:
            with suppress(OSError):
                os.utime(self._out / STATUS_FILE)
            self._beat = time.monotonic()

    def ranks(self, members: list[Member]) -> list[dict[str, Any]]:
        return [
            {
                "rank": rank,
                "node": member.node,
                "state": "ended" if member.ended else "running",
                "exit_code": member.exit_code if member.ended and (member.exit_code or 0) >= 0 else None,
                "signal": -member.exit_code if member.exit_code and member.exit_code < 0 else None,
            }
            for member in members
            for rank in member.ranks
        ]

    def metrics(self, fd: int, rank: int, attempt: int) -> bool:
        """Take what a rank sent; false at the end of its pipe."""
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return True
        if not data:
            return False
        *lines, rest = (self._partial.get(fd, b"") + data).split(b"\n")
        self._partial[fd] = rest if len(rest) <= MAX_LINE else b""
        points = [point for line in lines if (point := _point(line, rank, attempt))]
        self._append(rank, [point for point in points if not self._heard(rank, point)])
        return True

    def _heard(self, rank: int, point: dict[str, Any]) -> bool:
        """Whether it was not a figure but the runner's own word."""
        if not isinstance(word := point.get(SIGN), dict):
            return False
        if isinstance(waits := word.get("waits"), str):
            self.waiting[rank] = waits[:300]
            if waits:
                self.say(note=f"rank {rank}: {self.waiting[rank]}")
        if isinstance(error := word.get("error"), dict):
            self.errors[rank] = error
        return True

    def forget_attempt(self) -> None:
        """What came through the pipes of ranks that are gone."""
        self._partial, self.waiting, self.errors = {}, {}, {}

    def _append(self, rank: int, points: list[dict[str, Any]]) -> None:
        steps = [point["checkpoint"] for point in points if isinstance(point.get("checkpoint"), int)]
        if steps and steps[-1] != self.status["checkpoint_step"]:
            self.say(checkpoint_step=steps[-1])
        data = b"".join(json.dumps(point, separators=(",", ":")).encode() + b"\n" for point in points)
        if self._written + len(data) <= MAX_METRICS_BYTES:
            with suppress(OSError):
                os.write(self._file(rank), data)
            self._written += len(data)

    def _file(self, rank: int) -> int:
        if rank not in self._files:
            path = self._out / METRICS_FOLDER / f"rank-{rank}.jsonl"
            self._files[rank] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return self._files[rank]

    def _now(self) -> str:
        moment = datetime.fromtimestamp(self._wall(), UTC)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _point(line: bytes, rank: int, attempt: int) -> dict[str, Any] | None:
    """One declared line of a rank, or nothing: what is not a JSON object is not a metric."""
    if len(line) > MAX_LINE:
        return None
    try:
        point = json.loads(line, parse_constant=lambda _not_a_number: None)
    except ValueError:
        return None
    return point | {"rank": rank, "attempt": attempt} if isinstance(point, dict) else None
