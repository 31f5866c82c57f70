"""Why an attempt ended, what that means for a retry, and the exit code the supervisor ends with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gearshift.train.gang.failure import Failure


class Reason(StrEnum):
    """The same words as `gearshift.model.job.EndReason`; a test keeps them the same."""

    SUCCEEDED = "succeeded"
    USER_ERROR = "user_error"
    SIGNAL = "signal"
    OOM = "oom"
    NO_ANSWER = "no_answer"
    NODE_LOST = "node_lost"
    INTERRUPTED = "interrupted"
    DID_NOT_JOIN = "did_not_join"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"
    START_FAILED = "start_failed"


class Retry(StrEnum):
    """What an attempt that may be tried again is counted as; each word has a budget of its own."""

    NO_CAPACITY = "no-capacity"
    ERROR = "error"
    INTERRUPTION = "interruption"


RETRY_EXIT = 75
EXIT_CLASS = {
    Reason.SUCCEEDED: 0,
    Reason.USER_ERROR: 65,
    Reason.SIGNAL: RETRY_EXIT,
    Reason.OOM: 65,
    Reason.NO_ANSWER: RETRY_EXIT,
    Reason.NODE_LOST: RETRY_EXIT,
    Reason.INTERRUPTED: RETRY_EXIT,
    Reason.DID_NOT_JOIN: RETRY_EXIT,
    Reason.CANCELLED: 143,
    Reason.DEADLINE: 124,
    Reason.START_FAILED: 70,
}
STATE = {Reason.SUCCEEDED: "succeeded", Reason.CANCELLED: "cancelled"}
RETRIED = {
    Reason.SIGNAL: Retry.ERROR,
    Reason.NO_ANSWER: Retry.ERROR,
    Reason.NODE_LOST: Retry.INTERRUPTION,
    Reason.INTERRUPTED: Retry.INTERRUPTION,
    Reason.DID_NOT_JOIN: Retry.NO_CAPACITY,
}


@dataclass(frozen=True)
class Ending:
    """How one attempt was over."""

    reason: Reason
    failure: Failure | None = None

    @property
    def state(self) -> str:
        return STATE.get(self.reason, "failed")

    @property
    def exit_code(self) -> int:
        """Of the first failing rank where there is one: 128 + n for signal n, as a shell says it."""
        if self.failure is None:
            return EXIT_CLASS[self.reason]
        if self.failure.signal is not None:
            return 128 + self.failure.signal
        return self.failure.exit_code or EXIT_CLASS[self.reason]

    @property
    def counts_as(self) -> Retry | None:
        """A fault in the code fails fast: None. A killed rank, or one that asks for it (75), may run again."""
        asked = self.failure is not None and self.failure.exit_code == RETRY_EXIT
        return RETRIED.get(self.reason) or (Retry.ERROR if asked else None)

    @property
    def retry(self) -> bool:
        return self.counts_as is not None


def of_failure(failure: Failure, killed_by_limit: bool) -> Ending:
    if failure.out_of_memory or (failure.signal == 9 and killed_by_limit):
        return Ending(Reason.OOM, failure)
    if failure.waited_in_vain or failure.never_came:
        return Ending(Reason.NO_ANSWER, failure)
    return Ending(Reason.SIGNAL if failure.signal is not None else Reason.USER_ERROR, failure)
