"""Calls into anybody's code: within a time, and whatever they raise is an answer. Only an interrupt passes."""

from __future__ import annotations

import contextlib
import signal
import threading
import types
from collections.abc import Callable, Iterator
from typing import TypeVar

Made = TypeVar("Made")

OBJECT_S = 10.0
"""How long one variable's own code may take; copying memory of a device does not count."""


class TookTooLong(BaseException):
    """Not an `Exception`, so that what is stopped cannot take it for one of its own."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"took longer than {seconds:g} s")
        self.seconds = seconds


class _Alarm:
    """The one alarm of the process. Rung inside Python code only: a call into C ends by itself or not at all."""

    def __init__(self) -> None:
        self.armed = False
        self.seconds = 0.0

    def ring(self, number: int, frame: types.FrameType | None) -> None:
        if self.armed:
            self.armed = False
            raise TookTooLong(self.seconds)


_alarm = _Alarm()


def attempt(work: Callable[[], Made], seconds: float = OBJECT_S) -> tuple[Made | None, BaseException | None]:
    """What it gave, or what it raised."""
    try:
        with within(seconds):
            return work(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and its like are only somebody's way to refuse
        return None, error


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises `TookTooLong` in what runs longer. Inside another bound, and outside the main thread, that one holds."""
    if _alarm.armed or threading.current_thread() is not threading.main_thread():
        yield
        return
    theirs = signal.signal(signal.SIGALRM, _alarm.ring)
    _alarm.seconds = seconds
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    _alarm.armed = True
    try:
        try:
            yield
        finally:
            _alarm.armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, theirs)


@contextlib.contextmanager
def unbounded() -> Iterator[None]:
    """Work of ours inside a bound: the time stands still."""
    if not _alarm.armed or threading.current_thread() is not threading.main_thread():
        yield
        return
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))
