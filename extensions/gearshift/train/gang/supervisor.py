"""The life of one job: attempts until one succeeds, may not be retried, or the deadline passes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from types import FrameType

from gearshift.train.gang import bundle_files, checkpoints, hosts
from gearshift.train.gang.attempt import Attempt, Stop
from gearshift.train.gang.enclosure import Enclosure
from gearshift.train.gang.endings import EXIT_CLASS, Ending, Reason, Retry
from gearshift.train.gang.journal import Journal
from gearshift.train.gang.order import Order
from gearshift.train.gang.warm import Template


def supervise(
    order: Order,
    enclosure: Enclosure,
    stop: Stop,
    template: Template | None = None,
    begun: Callable[[], None] = lambda: None,
) -> int:
    """Run the job to its end and return the exit class (0, 65 user error, 75 may be retried, …).

    With a `template` its ranks are forked from that. `begun` is called once the status says that we have it.
    """
    order.out.mkdir(parents=True, exist_ok=True)
    journal = Journal(order.out, order.job, order.attempts_before)
    journal.keep_room()
    journal.say(state="starting")
    begun()
    try:
        hosts.show(order, enclosure)
        bundle_files.prepare(order)
        if order.resume_from:
            journal.say(checkpoint_step=checkpoints.adopt(order.checkpoints_before, order.checkpoints))
        ending = _attempts(order, journal, enclosure, stop, template)
    except OSError as error:
        journal.say(note=f"{error.strerror or error}: {error.filename or order.root}")
        ending = Ending(Reason.START_FAILED)
    if template is not None:
        template.close()
    bundle_files.tidy(order)
    journal.ended(ending.state, ending.reason, ending.exit_code)
    return EXIT_CLASS[ending.reason]


def _attempts(
    order: Order, journal: Journal, enclosure: Enclosure, stop: Stop, template: Template | None
) -> Ending:
    deadline = None if order.deadline_seconds is None else time.monotonic() + order.deadline_seconds
    left = {word: order.left_of(word) for word in Retry}
    number = order.first_attempt
    while True:
        resume = _resume_from(order)
        ending = Attempt(order, number, journal, enclosure, stop, resume, template).run(deadline)
        word = ending.counts_as
        if ending.failure is not None or word is not None:
            journal.attempt_failed(number, ending.reason, word, ending.failure)
        if ending.failure is not None:
            journal.say(first_failure=ending.failure.as_json())
        if word is None or ending.reason is Reason.INTERRUPTED or left[word] <= 0:
            return ending
        left[word] -= 1
        number += 1
        journal.say(state="starting", attempt=number, first_failure=None, note=f"attempt {number + 1}")


def _resume_from(order: Order) -> str:
    """Decided once, for all ranks: the newest complete checkpoint, or none."""
    found = checkpoints.newest(order.checkpoints)
    return str(found[1]) if found else ""


def listen() -> Stop:
    """TERM and INT mean: stop politely. The flag and the wake-up descriptor tell the loop."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    stop = Stop(wake=reader)

    def asked(_number: int, _frame: FrameType | None) -> None:
        stop.asked = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, asked)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return stop
