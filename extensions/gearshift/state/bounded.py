"""Calls into anybody's code: within a time, and whatever they raise is an answer. Only an interrupt passes."""

from __future__ import annotations

import contextlib
import signal
import threading
import types
from collections.abc import Callable, Iterator
from typing import TypeVar

Made = TypeVar("Made")
Progress = Callable[[], object]

OBJECT_S = 5.0
"""How long one variable's own code may go without progress; copying memory of a device does not count."""

LEAST_S = 0.1
_RINGS = 12
"""Periods after which even what makes progress is stopped: it may never end."""


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
        self.progress: Progress | None = None
        self._seen: object = None
        self._rings = 0

    def set(self, seconds: float, progress: Progress | None) -> tuple[float, float]:
        self.seconds, self.progress, self._seen, self._rings = seconds, progress, None, 0
        before = signal.setitimer(signal.ITIMER_REAL, seconds)
        self.armed = True
        return before

    def ring(self, number: int, frame: types.FrameType | None) -> None:
        if not self.armed:
            return
        seen = self.progress() if self.progress else None
        self._rings += 1
        if seen != self._seen and self._rings < _RINGS:
            self._seen = seen
            signal.setitimer(signal.ITIMER_REAL, self.seconds)
            return
        self.armed = False
        raise TookTooLong(self.seconds * self._rings)


_alarm = _Alarm()


def attempt(
    work: Callable[[], Made], seconds: float = OBJECT_S, progress: Progress | None = None
) -> tuple[Made | None, BaseException | None]:
    """What it gave, or what it raised."""
    try:
        with within(seconds, progress):
            return work(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and its like are only somebody's way to refuse
        return None, error


@contextlib.contextmanager
def within(seconds: float, progress: Progress | None = None) -> Iterator[None]:
    """Raises `TookTooLong` in what runs longer, or for so long without progress. Inside another bound, and outside the
    main thread, that one holds."""
    if _alarm.armed or threading.current_thread() is not threading.main_thread():
        yield
        return
    theirs = signal.signal(signal.SIGALRM, _alarm.ring)
    try:
        left, every = _alarm.set(seconds, progress)
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
