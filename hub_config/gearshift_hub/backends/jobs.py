"""What control asks of the place where gangs run: bundles, starts, looks, stops, and the files a job leaves.

Everything that a job wrote is the submitter's own and may be anything: it is read as data, with limits, and never
decides about money.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gearshift.model.job import JobSpec
from gearshift.model.launch import Person, ProcessLimits


class JobNotStartedError(Exception):
    """The gang could not be started; nothing of it runs."""


@dataclass(frozen=True)
class NodePlacement:
    """One node of a gang: the devices leased for it, and which of them CUDA sees."""

    devices: tuple[str, ...] = ()
    cuda: str = ""


@dataclass(frozen=True)
class Placement:
    """A job with everything that a start needs. `limits` are those of all nodes together."""

    job: str
    tree: str
    person: Person
    spec: JobSpec
    nodes: tuple[NodePlacement, ...]
    limits: ProcessLimits
    node_memory_bytes: int
    threads_per_rank: int
    prefix: str = ""
    """Where the Python of its image lies; empty for Gearshift's own."""
    join_seconds: float = 60.0
    spent_seconds: float = 0.0
    """Of its deadline, by supervisors that were lost."""
    attempts: tuple[dict[str, Any], ...] = ()
    """Those before, as their supervisors told them."""
    log_bytes: int = 64_000_000


@dataclass(frozen=True)
class Seen:
    """A job as it is observed. `status` is what its supervisor wrote last; `beat` changes while that one lives.

    `cpu_seconds` is what the whole gang has used and `memory_bytes` what it uses, by the box's own measure; None is
    unknown.
    """

    alive: bool
    exit_code: int | None = None
    status: Mapping[str, Any] | None = None
    beat: float = 0.0
    cpu_seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Page:
    """A piece of a file: its bytes from `offset` on, and how long the file is now.

    `left_out` bytes of a log were not kept before it; a piece that is `cut` ends where such a gap begins.
    """

    data: bytes
    offset: int
    size: int
    left_out: int = 0
    cut: bool = False


class JobBackend(Protocol):
    """The contract of `local` and `kubernetes`; calls are synchronous, `start` and `stop` may take seconds."""

    def save_bundle(self, owner: str, data: bytes) -> str:
        """Keep it under the SHA-256 of its bytes, which is returned; the same bytes twice are one bundle."""

    def bundle_bytes(self, owner: str, sha256: str) -> int | None:
        """The size of a bundle that this owner sent; None when they sent none."""

    def make_room_for_bundle(
        self, owner: str, needed: Collection[str], sent_before: float, limit: int, coming: int
    ) -> None:
        """Drop this owner's bundles that are not `needed` and were sent before that time, then the oldest until
        `coming` bytes more are within `limit`. Raises `too_large` when what is needed leaves no room."""

    def prepare(self, launch: str) -> str | None:
        """Do what must be done once before such jobs can start; None when nothing is missing, else what is being
        done. Raises JobNotStartedError when it cannot be done."""

    def start(self, placement: Placement) -> None:
        """Start the gang; raises JobNotStartedError."""

    def recover(self) -> None:
        """After a start of control: undo what an earlier one was in the middle of."""

    def look(self, job: str, tree: str) -> Seen: ...

    def stop(self, job: str, tree: str, grace_seconds: float, notice: bool = False) -> None:
        """Ask, wait for the grace, kill all of it. Returns when nothing is left; gone already is success.

        With `notice` it is told that its machine goes away: it is to go on elsewhere, and is not cancelled."""

    def kill(self, tree: str) -> None: ...

    def trees(self) -> Sequence[str]:
        """The trees of all gangs in which something runs."""

    def log(self, job: str, attempt: int, rank: int, offset: int, limit: int) -> Page | None:
        """A page of a rank's log; a negative offset counts from its end."""

    def log_bytes(self, job: str, attempt: int, ranks: int) -> int:
        """The size of all logs of an attempt: it grew, so there is something new to read."""

    def metrics(self, job: str, rank: int, offset: int, limit: int) -> Page | None: ...

    def open_result(self, job: str) -> tuple[int, int] | None:
        """A descriptor of the result file and its size; None when the job handed nothing back."""

    def remove(self, job: str) -> None:
        """Forget the files of a job that has ended; gone already is success."""

    def forget(self, owner: str) -> None:
        """End what is kept ready for the next job of somebody who is deleted."""

    def close(self) -> None:
        """End what `prepare` began, and what is kept ready for jobs to come."""
