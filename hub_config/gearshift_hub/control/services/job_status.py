"""What a supervisor said, as the model's records: checked, cut to size, and never more than words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from gearshift.diagnosis import diagnose
from gearshift.model.job import (
    AttemptEnd,
    EndReason,
    FirstFailure,
    JobSpec,
    JobUse,
    RankState,
    RankStatus,
    Retry,
)
from gearshift.model.record import Instant, Record
from pydantic import Field, ValidationError

LINES, LINE_CHARS, TEXT_CHARS = 60, 400, 2000
ATTEMPTS, ATTEMPT_LINES = 20, 10
"""The newest are kept, with less of each than of what ended the job."""


Count = Annotated[int, Field(ge=0, le=2**53)]
"""As large as every reader of JSON takes."""
Code = Annotated[int, Field(ge=-(2**31), le=2**32)]
"""An exit code or the number of a signal."""


class SaidFailure(Record):
    """The first failure as the supervisor wrote it."""

    rank: Count
    node: Count
    exit_code: Code | None = None
    signal: Code | None = None
    message: str = ""
    traceback: str = ""
    where: str = ""
    last_lines: tuple[str, ...] = ()
    at: Instant


class SaidRank(Record):
    """One rank as the supervisor wrote it."""

    rank: Count
    node: Count
    state: str
    exit_code: Code | None = None
    signal: Code | None = None


class SaidAttempt(Record):
    """An attempt that was over, as the supervisor wrote it."""

    attempt: Count
    reason: str = ""
    counts_as: str | None = None
    first_failure: SaidFailure | None = None
    ended_at: Instant


class Said(Record):
    """status.json. The submitter owns that file: what does not fit is not believed, and only what is read here is kept."""

    state: str = "starting"
    reason: str | None = None
    note: str = ""
    attempt: Count = 0
    exit_code: Code | None = None
    ranks: tuple[SaidRank, ...] = ()
    first_failure: SaidFailure | None = None
    attempts: tuple[SaidAttempt, ...] = ()
    checkpoint_step: Count | None = None
    ended_at: Instant | None = None
    use: JobUse | None = None
    """Ours, kept with what it said: whoever takes over its word puts the box's own measure here."""


def read(status: Mapping[str, Any] | None, world_size: int) -> Said | None:
    """None for what is missing or makes no sense."""
    if status is None:
        return None
    try:
        said = Said.model_validate(status)
    except ValidationError:
        return None
    cut = {"ranks": said.ranks[:world_size], "note": said.note[:TEXT_CHARS]}
    return said.model_copy(update={**cut, "attempts": said.attempts[-ATTEMPTS:]})


def reason_of(said: Said) -> EndReason | None:
    """Why it ended, if it said so in a word that we know."""
    return next((reason for reason in EndReason if reason == said.reason), None)


def ranks(said: Said | None, spec: JobSpec, devices: Sequence[Sequence[str]]) -> tuple[RankStatus, ...]:
    """All ranks of the job; those nothing is known of are waiting."""
    known = {rank.rank: rank for rank in said.ranks} if said else {}
    failed = said.first_failure.rank if said and said.first_failure else None
    return tuple(_rank(number, known.get(number), failed, spec, devices) for number in range(spec.world_size))


def attempts(said: Said | None) -> tuple[AttemptEnd, ...]:
    """Those that say why they were over, in words that we know."""
    return tuple(
        AttemptEnd(
            attempt=one.attempt,
            reason=EndReason(one.reason),
            counts_as=Retry(one.counts_as) if one.counts_as in set(Retry) else None,
            first_failure=_failure(one.first_failure, EndReason(one.reason), ATTEMPT_LINES),
            ended_at=one.ended_at,
        )
        for one in (said.attempts if said else ())
        if one.reason in set(EndReason)
    )


def failure(said: Said | None) -> FirstFailure | None:
    return None if said is None else _failure(said.first_failure, reason_of(said), LINES)


def _failure(first: SaidFailure | None, reason: EndReason | None, most: int) -> FirstFailure | None:
    if first is None:
        return None
    lines = first.traceback.splitlines() if first.traceback else first.last_lines
    return FirstFailure(
        rank=first.rank,
        node=first.node,
        exit_code=first.exit_code,
        signal=first.signal,
        message=first.message[:TEXT_CHARS],
        lines=tuple(line[:LINE_CHARS] for line in lines[-most:]),
        diagnosis=diagnose(*_last_words(first), first.signal, reason),
        at=first.at,
    )


def _last_words(first: SaidFailure) -> tuple[str, tuple[str, ...]]:
    """The error, and the lines around it: a traceback names the error's type, the log what came before."""
    lines = (*first.last_lines, *first.traceback.splitlines())
    return first.message[:TEXT_CHARS], lines[-LINES:]


def _rank(
    number: int, said: SaidRank | None, failed: int | None, spec: JobSpec, devices: Sequence[Sequence[str]]
) -> RankStatus:
    node, local = divmod(number, spec.procs)
    own = devices[node] if node < len(devices) else ()
    return RankStatus(
        rank=number,
        node=node,
        local_rank=local,
        state=_state(said, number == failed),
        exit_code=said.exit_code if said else None,
        signal=said.signal if said else None,
        device=own[local % len(own)] if own else None,
    )


def _state(said: SaidRank | None, failed_first: bool) -> RankState:
    if said is None:
        return RankState.WAITING
    if said.state == "running":
        return RankState.RUNNING
    if failed_first:
        return RankState.FAILED
    return RankState.SUCCEEDED if said.exit_code == 0 else RankState.STOPPED
