"""What a job is: the spec that is submitted, its states, why it ended and which rank failed first."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from gearshift.model.machine import Plan
from gearshift.model.quota import Hindrance
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
    """New attempts after an `error`: a rank was killed, did not answer, or asked for it with exit code 75."""
    max_interruptions: Annotated[int, Field(ge=0, le=100)] = 0
    """New attempts after an `interruption`: a node or the supervisor was lost, or the machine taken away."""
    max_no_capacity: Annotated[int, Field(ge=0, le=100)] = 0
    """New tries after `no-capacity`: it did not start, or a node did not join."""
    grace_seconds: Annotated[int, Field(ge=0, le=600)] = 3
    group_timeout_seconds: Annotated[int, Field(ge=1, le=86_400)] = 600
    deadline_seconds: Annotated[int, Field(ge=1)] | None = None
    expected_seconds: Annotated[int, Field(ge=1)] | None = None
    """How long it will run, as its owner thinks: those who wait are told by it."""
    priority: Annotated[int, Field(ge=-10, le=10)] = 0
    """In line; above `queue.max_priority` of the deployment only for an admin."""
    budget_nano: Annotated[int, Field(ge=0)] | None = None
    workspace: str | None = None
    attached: bool = False
    """It ends when the cell that launched it gives no sign of life; else it is nobody's but Gearshift's."""
    resume: Annotated[str, Field(pattern=JOB_ID)] | None = None
    """A job of the same owner that has ended: this one begins at its newest complete checkpoint."""

    @property
    def world_size(self) -> int:
        return self.nodes * self.procs

    def budget_of(self, word: Retry) -> int:
        return {
            Retry.ERROR: self.max_restarts,
            Retry.INTERRUPTION: self.max_interruptions,
            Retry.NO_CAPACITY: self.max_no_capacity,
        }[word]


class EndReason(StrEnum):
    """Why a job ended."""

    SUCCEEDED = "succeeded"
    USER_ERROR = "user_error"
    SIGNAL = "signal"
    OOM = "oom"
    NO_ANSWER = "no_answer"
    NODE_LOST = "node_lost"
    INTERRUPTED = "interrupted"
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

    @property
    def counts_as(self) -> Retry | None:
        """The budget that another try is taken from, when control sees the end; None: it is not tried again."""
        return _COUNTS_AS.get(self)


class Retry(StrEnum):
    """Why a job is tried again: each word has a budget of its own. A fault in the code is none of them."""

    NO_CAPACITY = "no-capacity"
    ERROR = "error"
    INTERRUPTION = "interruption"


_COUNTS_AS = {
    EndReason.LOST: Retry.INTERRUPTION,
    EndReason.INTERRUPTED: Retry.INTERRUPTION,
    EndReason.DID_NOT_JOIN: Retry.NO_CAPACITY,
    EndReason.START_FAILED: Retry.NO_CAPACITY,
}


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
        {
            JobState.RUNNING,
            JobState.CANCELLING,
            JobState.FAILED,
            JobState.SUCCEEDED,
            JobState.STARTING,
            JobState.QUEUED,
        }
    ),
    JobState.RUNNING: frozenset(
        {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLING, JobState.STARTING, JobState.QUEUED}
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


class Shape(Record):
    """Another shape of the same job. `seconds` is measured, or reckoned as if the work divided evenly over nodes."""

    machine: str
    nodes: int
    price_per_hour_nano: int
    seconds: float | None = None
    cost_nano: int | None = None


class AttemptEnd(Record):
    """How an earlier attempt of a job was over, and which budget the next one was taken from."""

    attempt: int
    reason: EndReason
    counts_as: Retry | None = None
    first_failure: FirstFailure | None = None
    ended_at: Instant


class QueuePlace(Record):
    """Where a queued job stands: `needs` at once, `free` now, `after` which job; what is not known is None."""

    position: int
    of: int = 1
    """How many wait for the same room."""
    needs: int
    free: int
    after: str | None = None
    after_name: str | None = None
    after_owner: str | None = None
    """Of a job that whoever looks may know of: their own, or their team's."""
    starts_at: Instant | None = None
    seconds: float | None = None
    """How long it will run, declared or measured."""
    cost_nano: int | None = None
    quota: Hindrance | None = None
    shapes: tuple[Shape, ...] = ()
    """What would start now."""


class JobUse(Record):
    """What a running job uses of all its machines together, by the box's own measure."""

    memory_bytes: int
    memory_has_bytes: int
    cores: float | None = None
    """Busy processors, as a mean over the last seconds."""
    cores_has: float


class Job(Record):
    """A job as everybody sees it."""

    id: str
    owner: str
    spec: JobSpec
    state: JobState
    reason: EndReason | None = None
    attempt: int = 0
    attempts: tuple[AttemptEnd, ...] = ()
    """Those before this one that were tried again, and the last one once it has failed."""
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
    use: JobUse | None = None
    """While it runs, where the box measures it."""
