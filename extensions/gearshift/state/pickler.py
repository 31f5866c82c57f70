"""Writes one stream: cloudpickle, with our reducers in front of it.

A stream begins with a tiny pickle that yields the user's namespace, whose place in the memo is then known to both
sides: whatever refers to the namespace refers to it, and never carries it along.
"""

from __future__ import annotations

import io
import logging
import pickle
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import cloudpickle

from gearshift.state import files, functions, packages, rebuild
from gearshift.state.memory import Memory, Segment
from gearshift.state.reasons import code_of
from gearshift.state.refusal import Refusal

PREFIX = b"\x80\x05cgearshift.state.rebuild\nnamespace\n)R\x94."
"""PROTO 5, GLOBAL namespace, EMPTY_TUPLE, REDUCE, MEMOIZE, STOP."""

Rule = Callable[[Any], Any]


class Note(Protocol):
    """Something to be told of the variable in hand."""

    def __call__(self, code: str, **words: str) -> None: ...


class Writing(Protocol):
    """The capture that a stream is part of."""

    ns: dict[str, Any]
    rules: dict[type, Rule]
    singles: Mapping[int, tuple[Any, ...]]
    namespaces: functions.Namespaces

    def defines(self, thing: Any) -> int | None:
        """The number of the class or function, where it has a stream of its own."""


class Stream:
    """What one dump gave: the bytes, the buffers beside them, all objects met, and what else it needs."""

    def __init__(self) -> None:
        self.sink = io.BytesIO()
        self.buffers: list[memoryview | Segment] = []
        self.segments: dict[int, Segment] = {}
        self.met: dict[int, tuple[int, Any]] = {}
        self.needs: set[int] = set()
        self.notes: dict[str, dict[str, str]] = {}
        self.devices: set[str] = set()
        self.packages: set[str] = set()
        self.has_code = False


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """One dump. `inline` are ids of definitions that are written here and not by number."""

    def __init__(self, writing: Writing, stream: Stream, inline: frozenset[int]) -> None:
        stream.sink.write(PREFIX)
        super().__init__(stream.sink, protocol=5, buffer_callback=self._beside)
        self.memo = {id(writing.ns): (0, writing.ns)}
        self.last: Any = None
        self._writing, self._stream, self._inline = writing, stream, inline
        self._segment: Segment | None = None

    def _beside(self, buffer: pickle.PickleBuffer) -> bool:
        """The one buffer of a segment is read when it is written, not now: it may lie on a device."""
        segment, self._segment = self._segment, None
        self._stream.buffers.append(buffer.raw() if segment is None else segment)
        return False

    def progress(self) -> object:
        """Differs from what it was as long as the writing goes on."""
        return id(self.last), self._stream.sink.tell()

    def reducer_override(self, obj: Any) -> Any:
        """Called for every object but plain containers and atoms."""
        self.last = obj
        kind = type(obj)
        if issubclass(kind, Segment):
            self._segment = obj
            return NotImplemented
        rule = self._writing.rules.get(kind)
        if rule is not None:
            return rule(obj)
        single = self._writing.singles.get(id(obj))
        if single is not None:
            return single
        if kind is types.FunctionType:
            return self._function(obj)
        if issubclass(kind, type):
            return self._class(obj)
        code = code_of(kind)
        if code is not None:
            raise Refusal(code, obj)
        return NotImplemented

    def _function(self, made: types.FunctionType) -> Any:
        if made.__globals__ is not self._writing.ns and functions.importable(made):
            return self._by_name(made)
        token = self._writing.namespaces.token(made.__globals__)
        return self._by_number(made) or functions.reduce_function(made, token)

    def _class(self, made: type) -> Any:
        if functions.importable(made):
            return self._by_name(made)
        reduced = super().reducer_override(made)
        if reduced is NotImplemented or len(reduced) < 6:
            return reduced  # a builtin type by its name
        return self._by_number(made) or _adjusted(made, reduced)

    def _by_name(self, made: Any) -> Any:
        root = packages.root_of(made)
        if root is not None:
            self._stream.packages.add(root)
        return NotImplemented

    def _by_number(self, made: Any) -> Any:
        number = None if id(made) in self._inline else self._writing.defines(made)
        if number is None:
            self._stream.has_code = True
            return None
        self._stream.needs.add(number)
        return rebuild.definition, (number,)


def rules(memory: Memory, note: Note, saw: Callable[[str], None]) -> dict[type, Rule]:
    """All reducers; those of numpy and torch only where the kernel has imported them. `note` takes codes, with their
    words, of what is lost on the way, `saw` the devices that tensors lie on."""

    def reduce_cached(made: Any) -> Any:
        note("cache_empty")
        return functions.reduce_cached(made)

    found: dict[type, Rule] = {
        types.CellType: functions.reduce_cell,
        functions.CACHED: reduce_cached,
        memoryview: functions.reduce_memoryview,
        weakref.WeakKeyDictionary: functions.reduce_weak_dict,
        weakref.WeakValueDictionary: functions.reduce_weak_dict,
        logging.Logger: functions.reduce_logger,
        logging.RootLogger: functions.reduce_logger,
        **dict.fromkeys(files.FILE_TYPES, files.reduce_file),
    }
    if "numpy" in sys.modules:
        from gearshift.state import arrays  # noqa: PLC0415 - heavy, only where the kernel has it already

        found.update(arrays.rules(memory))
    if "torch" in sys.modules:
        from gearshift.state import tensors  # noqa: PLC0415 - heavy, only where the kernel has it already

        found.update(tensors.rules(memory, note, saw))
    if "torchdata.stateful_dataloader" in sys.modules:
        from gearshift.state import loaders  # noqa: PLC0415 - only where the kernel has it already

        found.update(loaders.rules(vars(sys.modules[loaders.MODULE]), note))
    return found


def _adjusted(made: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """cloudpickle's reduction of a class, changed in two places: without its tracker id, since our numbers do that
    and a load where the id is known would overwrite the class that is there; and with `__slots__` in the body, since
    set afterwards they make no slots."""
    make, (*known, _tracker, extra), *rest = reduced
    slots = made.__dict__.get("__slots__")
    if slots is not None and len(known) == 4 and not issubclass(made, tuple):
        known[3] = {**known[3], "__slots__": slots}
    return (make, (*known, None, extra), *rest)
