"""Reads a stream on when an object in it cannot be made: a hole takes its place, everything else keeps its links.

Slow and thorough, in pure Python; used only after the fast reading of a stream failed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import IO, Any, ClassVar, cast

from gearshift.state.bounded import LEAST_S, TookTooLong, attempt
from gearshift.state.rebuild import GoneError
from gearshift.state.refusal import Refusal, told
from gearshift.state.report import Reason

MARK = "hole"
"""A word in the reason of whoever reaches a hole."""


class Hole:
    """Stands for an object that could not be made."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise Refusal(self.reason.code, None, {**self.reason.words, MARK: "1"})


class TolerantUnpickler(pickle._Unpickler):
    """`look_up` finds globals as the fast one does."""

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(pickle._Unpickler.dispatch)

    def __init__(
        self, file: IO[bytes], buffers: Iterable[Any], look_up: Callable[[str, str], Any], seconds: float
    ) -> None:
        super().__init__(file, buffers=buffers)
        self._look_up = look_up
        self._seconds = seconds

    def try_to(self, load: Callable[[Any], None]) -> BaseException | None:
        """One step that may run anybody's code; what hangs leaves less time to the next."""
        _, error = attempt(lambda: load(self), self._seconds)
        if isinstance(error, TookTooLong):
            self._seconds = max(self._seconds / 2, LEAST_S)
        return error

    def find_class(self, module: str, name: str) -> Any:
        return self._look_up(module, name)


def _hole(error: BaseException, looked_up: bool = False) -> Hole:
    for cause in (error, error.__cause__):
        if isinstance(cause, Refusal):
            return Hole(Reason(cause.code, cause.words))
    if isinstance(error, TookTooLong):
        return Hole(Reason("too_slow", {"seconds": f"{error.seconds:g}"}))
    if isinstance(error, GoneError):
        return Hole(Reason("file_gone", {"path": str(error)}))
    if isinstance(error, ImportError):
        return Hole(Reason("missing_module", {"error": told(error)}))
    if isinstance(error, AttributeError) and looked_up:
        return Hole(Reason("missing_module", {"error": told(error)}))
    return Hole(Reason("load_raises", {"error": told(error)}))


def _holds(value: Any) -> Hole | None:
    """A hole that is this value or a direct part of it."""
    kind = type(value)
    if kind is Hole:
        return cast("Hole", value)
    parts = value if kind in (tuple, list) else value.values() if kind is dict else ()
    return next((part for part in parts if type(part) is Hole), None)


def _reduce(self: Any) -> None:
    args, func = self.stack[-1], self.stack[-2]
    found = _holds(func) or _holds(args)
    if found is not None:
        del self.stack[-1]
        self.stack[-1] = found
        _poison(self, args, found)
        return
    error = self.try_to(pickle._Unpickler.load_reduce)  # type: ignore[attr-defined]
    if error is not None:
        self.stack[-1] = made = _hole(error)
        _poison(self, args, made)


def _poison(self: Any, args: Any, hole: Hole) -> None:
    """A state setter that fails spoils the object it was to fill, which lies below it on the stack."""
    if len(self.stack) > 1 and args and self.stack[-2] is args[0]:
        _replace(self, -2, hole)


def _replace(self: Any, place: int, hole: Hole) -> None:
    spoiled = self.stack[place]
    self.stack[place] = hole
    for key, value in self.memo.items():
        if value is spoiled:
            self.memo[key] = hole


def _new(load: Callable[[Any], None], taken: int) -> Callable[[Any], None]:
    """NEWOBJ and its kind: what they take off the stack, they leave one object for."""

    def tolerant(self: Any) -> None:
        parts = list(self.stack[-taken:])
        depth = len(self.stack) - taken
        found = next((h for h in map(_holds, parts) if h is not None), None)
        if found is None:
            error = self.try_to(load)
            if error is None:
                return
            found = _hole(error, looked_up=load.__name__ == "load_stack_global")
        del self.stack[depth:]
        self.append(found)

    return tolerant


def _fill(load: Callable[[Any], None], taken: int | None) -> Callable[[Any], None]:
    """BUILD, SETITEMS and their kind: they fill the object below what they take (None: all down to the mark)."""

    def tolerant(self: Any) -> None:
        below = self.metastack[-1] if taken is None else self.stack
        target = below[-1 - (taken or 0)]
        if type(target) is Hole:
            self.pop_mark() if taken is None else self.stack.__delitem__(slice(-taken, None))
            return
        error = self.try_to(load)
        if error is not None:
            while self.stack[-1] is not target:
                self.stack.pop()
            _replace(self, -1, _hole(error))

    return tolerant


def _install() -> None:
    table = TolerantUnpickler.dispatch
    table[pickle.REDUCE[0]] = _reduce
    for code, taken in ((pickle.NEWOBJ, 2), (pickle.NEWOBJ_EX, 3), (pickle.STACK_GLOBAL, 2)):
        table[code[0]] = _new(table[code[0]], taken)
    for code in (pickle.SETITEMS, pickle.APPENDS, pickle.ADDITEMS):
        table[code[0]] = _fill(table[code[0]], None)
    for code, taken in ((pickle.BUILD, 1), (pickle.APPEND, 1), (pickle.SETITEM, 2)):
        table[code[0]] = _fill(table[code[0]], taken)


_install()
