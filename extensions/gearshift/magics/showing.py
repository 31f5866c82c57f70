"""What is displayed: bundles that Lab draws live, with HTML and text beside them; updated at the end by a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from gearshift.magics import words
from gearshift.magics.door import Door
from gearshift.magics.phrases import say
from gearshift.model.errors import GearshiftError

JOB_MIME = "application/vnd.gearshift.job+json"
PLAN_MIME = "application/vnd.gearshift.plan+json"
FINAL = frozenset({"succeeded", "failed", "cancelled"})
POLL_SECONDS = 1.0
LOG_BYTES = 32_000
"""Of rank 0, below a job that has ended: the saved notebook keeps it when control no longer does."""
ATTEND_SECONDS = 5.0

Bundle = dict[str, Any]


class Publisher(Protocol):
    """The part of IPython's display publisher that is used."""

    def publish(
        self, data: Bundle, metadata: Mapping[str, Any], *, transient: Mapping[str, Any], update: bool
    ) -> None: ...


def job_bundle(job: Mapping[str, Any], symbol: str, log: Sequence[str] = ()) -> Bundle:
    """`log`: what stands below the facts in a notebook that is read elsewhere; else the last lines of a failure."""
    return {
        JOB_MIME: {"job": job["id"]},
        "text/html": words.html(job, symbol, log),
        "text/plain": words.plain(job, symbol, log),
    }


def plan_bundle(plan: Mapping[str, Any], symbol: str) -> Bundle:
    lines = words.plan_lines(plan, symbol)
    text = "\n".join([*lines, say("plan.confirm")])
    return {PLAN_MIME: {"plan": dict(plan)}, "text/plain": text}


def publish(publisher: Publisher, bundle: Bundle, display_id: str, update: bool = False) -> None:
    publisher.publish(bundle, {}, transient={"display_id": display_id}, update=update)


def follow(
    door: Door,
    publisher: Publisher,
    symbol: str,
    display_id: str,
    find: Callable[[], Mapping[str, Any] | None],
) -> threading.Thread:
    """Update the display when the job appears and when it ends; the page draws what lies between by itself."""

    def run() -> None:
        job: Mapping[str, Any] | None = None
        try:
            job = find()
            while job is not None:
                is_over = job["state"] in FINAL
                log = door.log_end(job["id"], 0, LOG_BYTES).splitlines() if is_over else ()
                publish(publisher, job_bundle(job, symbol, log), display_id, update=True)
                if is_over:
                    return
                job = until_final(door, job["id"])
        except GearshiftError:
            return

    thread = threading.Thread(target=run, name=f"gearshift-{display_id}", daemon=True)
    thread.start()
    return thread


def until_final(door: Door, job: str, seconds: float | None = None) -> Mapping[str, Any]:
    """The job once it has ended, or as it is when the time is over. Control being away is waited out."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        found = _try(door, job)
        over = deadline is not None and time.monotonic() >= deadline
        if found is not None and (found["state"] in FINAL or over):
            return found
        time.sleep(
            POLL_SECONDS if deadline is None else max(0.0, min(POLL_SECONDS, deadline - time.monotonic()))
        )


def attended(door: Door, job: str) -> Mapping[str, Any]:
    """The job once it has ended. Signs of life go out meanwhile; an interrupt ends it, a second one is too late."""
    over = False
    while True:
        try:
            _attend(door, job, over)
            found = until_final(door, job, ATTEND_SECONDS)
            if found["state"] in FINAL:
                return found
        except KeyboardInterrupt:
            over = True


def _attend(door: Door, job: str, over: bool) -> None:
    try:
        door.attend_job(job, over)
    except GearshiftError as error:
        if error.code != "control_unavailable":
            raise


def of_plan(door: Door, plan: str) -> Callable[[], Mapping[str, Any] | None]:
    """Finds the job that a press makes of this plan, while it can still be pressed."""

    def find() -> Mapping[str, Any] | None:
        deadline = time.monotonic() + 125
        while time.monotonic() < deadline:
            if (found := door.job_of_plan(plan)) is not None:
                return found
            time.sleep(POLL_SECONDS)
        return None

    return find


def _try(door: Door, job: str) -> Mapping[str, Any] | None:
    try:
        return door.job(job)
    except GearshiftError as error:
        if error.code != "control_unavailable":
            raise
        return None
