"""What is counted when a job is tried again, and how long it waits before."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gearshift.model.job import EndReason, Retry

from gearshift_hub.control.services.job_status import Said, SaidAttempt

LONGEST_PAUSE_SECONDS = 60.0


def pause(word: Retry, tries: int) -> timedelta:
    """What was interrupted goes on as soon as there is room. A box that did not start it is given time: 1 s at
    first, twice as long each time, at most a minute."""
    if word is not Retry.NO_CAPACITY:
        return timedelta()
    return timedelta(seconds=min(LONGEST_PAUSE_SECONDS, 2.0 ** min(tries - 1, 10)))


def status_after(said: Said | None, reason: EndReason, word: Retry, now: datetime) -> dict[str, Any]:
    """What stays of a status when its gang is gone: the attempts, with this one among them, and its checkpoint."""
    if said is None:
        return {}
    attempts = said.attempts
    if not attempts or attempts[-1].attempt != said.attempt:
        attempts = (
            *attempts,
            SaidAttempt(
                attempt=said.attempt,
                reason=reason,
                counts_as=word,
                first_failure=said.first_failure,
                ended_at=now,
            ),
        )
    kept = Said(attempt=said.attempt, attempts=attempts, checkpoint_step=said.checkpoint_step)
    return kept.model_dump(mode="json")


def counted(status: dict[str, Any], word: Retry) -> int:
    """Attempts that were over for this word; each supervisor has a budget of its own to begin with."""
    return sum(one["counts_as"] == word for one in status.get("attempts", ()))
