"""Which rank failed first, and why: from exit codes, what the ranks recorded, and the tails of their logs."""

from __future__ import annotations

import json
import re
import signal
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TAIL_BYTES, TAIL_LINES, TRACEBACK_CHARS = 8192, 20, 8000
AGENT_CAUSE = re.compile(
    r"rank\s*:\s*(?P<rank>\d+) \(local_rank: \d+\)\s+exitcode\s*:\s*(?P<code>-?\d+)", re.DOTALL
)
IN_VAIN = re.compile(
    r"Timed out waiting \d+ ?ms|Watchdog caught collective operation timeout|wait timeout after \d+ ?ms"
    r"|Application timeout caused pair closure|timed out after \d+ ?ms while trying to connect"
)
"""What torch's collectives say when a peer or the network did not answer within the group timeout."""


@dataclass(frozen=True)
class Failure:
    """The first bad end of an attempt. `signal` is set when the rank was killed; then `exit_code` is not."""

    rank: int
    node: int
    exit_code: int | None
    signal: int | None
    message: str
    at_ns: int
    type: str = ""
    traceback: str = ""
    where: str = ""
    last_lines: tuple[str, ...] = ()
    recorded: bool = False
    """The rank wrote down its error itself, with its own time; else `at_ns` is when we saw its end."""

    never_came: bool = False
    """It did not fail at all: the others waited for it, or it was halted."""

    @property
    def waited_in_vain(self) -> bool:
        """It told that a collective got no answer (or aborted over it, with a word in its log)."""
        said = (self.message,) if self.recorded else self.last_lines
        return any(IN_VAIN.search(text) for text in said)

    @property
    def silent(self) -> bool:
        """It ended without a word. What a rank suffers when a peer is gone it can still tell (or abort over it), so
        of ranks that fail within a moment a silent one came first, though we may have seen it later."""
        return not self.recorded and self.signal not in (signal.SIGABRT, signal.SIGTERM)

    @property
    def out_of_memory(self) -> bool:
        return (
            self.type in {"MemoryError", "OutOfMemoryError"}
            or "DefaultCPUAllocator: can't allocate" in self.message
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "node": self.node,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "type": self.type,
            "message": self.message,
            "traceback": self.traceback,
            "where": self.where,
            "last_lines": list(self.last_lines),
            "at": datetime.fromtimestamp(self.at_ns / 1e9, UTC)
            .isoformat(timespec="microseconds")
            .replace("+00:00", "Z"),
        }


def of_rank(
    folder: Path, rank: int, node: int, code: int | None, seen_ns: int, sent: dict[str, Any] | None = None
) -> Failure | None:
    """The failure of this rank, if it failed: by its exit code, or by what it recorded before it could exit.

    `sent` is what it sent of its error while the disk was full.
    """
    record = _record(folder / f"rank-{rank}.error.json") or sent
    if not code and record is None:
        return None
    own: dict[str, Any] = record.get("gearshift", {}) if record else {}
    lines = tail(folder / f"rank-{rank}.log")
    killed = -code if code is not None and code < 0 else None
    return Failure(
        rank=rank,
        node=node,
        exit_code=None if killed else (code or int(own.get("exit_code", 1))),
        signal=killed,
        type=str(own.get("type", "")),
        message=_message(record, killed, code, lines),
        traceback=_traceback(record),
        where=str(own.get("where", "")),
        last_lines=lines,
        at_ns=int(own.get("time_ns", seen_ns)),
        recorded="time_ns" in own,
    )


def first(failures: list[Failure]) -> Failure | None:
    """Silent ends before told ones, then the lowest time: what fails as a consequence tells its error later."""
    return min(failures, key=lambda one: (not one.silent, one.at_ns, one.rank), default=None)


def blamed_by_agent(log: Path) -> tuple[int, int] | None:
    """Rank and exit code that torchrun's report names as the root cause; its own exit code is always 1."""
    report = "\n".join(tail(log, TAIL_BYTES * 4, 200)).partition("Root Cause")[2]
    found = AGENT_CAUSE.search(report)
    return (int(found["rank"]), int(found["code"])) if found else None


def tail(log: Path, size: int = TAIL_BYTES, lines: int = TAIL_LINES) -> tuple[str, ...]:
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            text = file.read(size).decode(errors="replace")
    except OSError:
        return ()
    return tuple(line.rstrip() for line in text.splitlines()[-lines:])


def now_ns() -> int:
    return time.time_ns()


def _record(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(errors="replace")[:1_000_000])
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _message(
    record: dict[str, Any] | None, killed: int | None, code: int | None, lines: tuple[str, ...]
) -> str:
    if killed:
        return f"killed by signal {killed} ({_signal_name(killed)})"
    if record:
        inner = record.get("message")
        return str(inner.get("message", "") if isinstance(inner, dict) else inner)[:2000]
    last = next((line for line in reversed(lines) if line.strip()), "")
    return f"exit code {code}" + (f": {last[:300]}" if last else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _traceback(record: dict[str, Any] | None) -> str:
    inner = record.get("message") if record else None
    extra = inner.get("extraInfo") if isinstance(inner, dict) else None
    text = str(extra.get("py_callstack", "")) if isinstance(extra, dict) else ""
    return text[-TRACEBACK_CHARS:]
