"""Calls into anybody's code: within a time, and whatever they raise is an answer. Only an interrupt passes.

A plan, a save or a load is *watched*: a tick looks at the call in hand. It comes inside Python code only; a call into C
ends by itself or not at all. Time is counted in ticks that came, so a process that gets no turn on a busy machine is not
taken for one that hangs. Outside a watch, and outside the main thread, where no signal comes, calls have no bound.
"""

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
_TICK_S = 0.05
_PERIODS = 12
"""After so many even what makes progress is stopped: it may never end."""


class TookTooLong(BaseException):
    """Not an `Exception`, so that what is stopped cannot take it for one of its own."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"took longer than {seconds:g} s")
        self.seconds = seconds


class _Bound:
    """The time of one call."""

    __slots__ = ("periods", "progress", "seconds", "seen", "spent")

    def __init__(self, seconds: float, progress: Progress | None) -> None:
        self.seconds, self.progress = seconds, progress
        self.spent = 0.0
        self.seen: object = None
        self.periods = 0

    def check(self) -> None:
        """Raises past the time; what went on since the last time gets it once more."""
        self.spent += _TICK_S
        if self.spent < self.seconds:
            return
        seen = self.progress() if self.progress else None
        moved, self.seen, self.periods = seen != self.seen, seen, self.periods + 1
        self.spent = 0.0
        if not moved or self.periods >= _PERIODS:
            raise TookTooLong(self.seconds)


_current: _Bound | None = None
_watched = False


def attempt(
    work: Callable[[], Made], seconds: float = OBJECT_S, progress: Progress | None = None
) -> tuple[Made | None, BaseException | None]:
    """What it gave, or what it raised: `TookTooLong` past the time, or after so long without progress. Bounds nest."""
    global _current  # noqa: PLW0603 - a process has one alarm
    outer = _current
    try:
        _current = _Bound(seconds, progress)
        return work(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and its like are only somebody's way to refuse
        return None, error
    finally:
        _current = outer


@contextlib.contextmanager
def watch() -> Iterator[None]:
    """Bounds hold inside. The timer and the handler that were there come back afterwards."""
    global _watched  # noqa: PLW0603 - a process has one alarm
    if _watched or threading.current_thread() is not threading.main_thread():
        yield
        return
    theirs = signal.signal(signal.SIGALRM, _tick)
    signal.siginterrupt(signal.SIGALRM, False)
    before = signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)
    _watched = True
    try:
        yield
    finally:
        _watched = False
        signal.setitimer(signal.ITIMER_REAL, *before)
        signal.signal(signal.SIGALRM, theirs)


@contextlib.contextmanager
def unbounded() -> Iterator[None]:
    """Work of ours, or an import, inside a bound: the time stands still."""
    global _current  # noqa: PLW0603 - a process has one alarm
    bound, _current = _current, None
    try:
        yield
    finally:
        _current = bound


def _tick(number: int, frame: types.FrameType | None) -> None:
    if _current is not None:
        _current.check()
