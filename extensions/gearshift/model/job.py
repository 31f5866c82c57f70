"""What a job is: the spec that is submitted, its states, why it ended and which rank failed first."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from gearshift.model.machine import Plan
from gearshift.model.record import Input, Instant, Record, Text
from gearshift.model.workspace import DiskMount

JOB_ID = r"^job-[0-9a-f]{8,32}$"


class Launch(StrEnum):
    """Who sets up the ranks: we set the environment (of torchrun, DeepSpeed or accelerate), or torchrun does."""

    ENV = "env"
    TORCHRUN = "torchrun"
    DEEPSPEED = "deepspeed"
    ACCELERATE = "accelerate"


class JobSpec(Input):
    """A gang of `nodes` x `procs` processes. `code` is the SHA-256 of the bundle that was sent before."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    machine: str
    image: str
    plan: Plan = Plan.ON_DEMAND
    nodes: int = 1
    procs: int = 1
    launch: Launch = Launch.ENV
    code: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    argv: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    disks: tuple[DiskMount, ...] = ()
    datasets: tuple[str, ...] = ()
    max_restarts: Annotated[int, Field(ge=0, le=100)] = 0
    grace_seconds: Annotated[int, Field(ge=0, le=600)] = 3
    group_timeout_seconds: Annotated[int, Field(ge=1, le=86_400)] = 600
    deadline_seconds: Annotated[int, Field(ge=1)] | None = None
    budget_nano: Annotated[int, Field(ge=0)] | None = None
    workspace: str | None = None
    attached: bool = False
    """It ends when the cell that launched it gives no sign of life; else it is nobody's but Gearshift's."""
    resume: Annotated[str, Field(pattern=JOB_ID)] | None = None
    """A job of the same owner that has ended: this one begins at its newest complete checkpoint."""

    @property
    def world_size(self) -> int:
        return self.nodes * self.procs


class EndReason(StrEnum):
    """Why a job ended."""

    SUCCEEDED = "succeeded"
    USER_ERROR = "user_error"
    SIGNAL = "signal"
    OOM = "oom"
    CANCELLED = "cancelled"
    DID_NOT_JOIN = "did_not_join"
    DEADLINE = "deadline"
    BUDGET = "budget"
    LOST = "lost"
    START_FAILED = "start_failed"

    @property
    def state(self) -> JobState:
        """The state that a job ends in for this reason."""
        if self is EndReason.SUCCEEDED:
            return JobState.SUCCEEDED
        return JobState.CANCELLED if self is EndReason.CANCELLED else JobState.FAILED

    @property
    def is_ours(self) -> bool:
        """A fault of the machine, not of the code: it may be retried and is not charged."""
        return self in {EndReason.LOST, EndReason.START_FAILED}


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in {self.SUCCEEDED, self.FAILED, self.CANCELLED}

    @property
    def holds_lease(self) -> bool:
        return self in {self.STARTING, self.RUNNING, self.CANCELLING}

    def can_become(self, other: JobState) -> bool:
        return other in _NEXT[self]


_NEXT: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.STARTING, JobState.CANCELLED, JobState.FAILED}),
    JobState.STARTING: frozenset(
        {JobState.RUNNING, JobState.CANCELLING, JobState.FAILED, JobState.SUCCEEDED, JobState.STARTING}
    ),
    JobState.RUNNING: frozenset(
        {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLING, JobState.STARTING}
    ),
    JobState.CANCELLING: frozenset({JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}


class RankState(StrEnum):
    """Where a rank stands."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


class RankStatus(Record):
    """One process of the gang."""

    rank: int
    node: int
    local_rank: int = 0
    state: RankState = RankState.WAITING
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    device: str | None = None


class Diagnosis(Record):
    """A failure that is known by its words: what happened and what helps."""

    id: str
    cause: Text
    remedy: Text


class FirstFailure(Record):
    """The rank that failed first: all later ones failed because of it."""

    rank: int | None = None
    node: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    lines: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None
    at: Instant


class QueuePlace(Record):
    """Where a queued job stands: `needs` nodes at once, `free` now, `after` which job."""

    position: int
    needs: int
    free: int
    after: str | None = None


class Job(Record):
    """A job as everybody sees it."""

    id: str
    owner: str
    spec: JobSpec
    state: JobState
    reason: EndReason | None = None
    attempt: int = 0
    ranks: tuple[RankStatus, ...] = ()
    first_failure: FirstFailure | None = None
    metrics_last: dict[str, Any] | None = None
    checkpoint_step: int | None = None
    """Of its newest complete checkpoint."""
    created_at: Instant
    started_at: Instant | None = None
    ended_at: Instant | None = None
    price_per_hour_nano: int = 0
    cost_nano: int = 0
    queue: QueuePlace | None = None
