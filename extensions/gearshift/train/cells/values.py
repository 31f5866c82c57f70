"""Values that go with a cell: pickled by rule. What is too large or cannot be pickled is told, never guessed."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import cloudpickle

from gearshift.model.units import format_bytes
from gearshift.train.bundle import in_main

LIMIT = 1024**2


class TooLargeError(Exception):
    """The pickle of a value grew over the limit."""

    def __init__(self, size: int, at_least: bool) -> None:
        super().__init__(f"{'over ' if at_least else ''}{format_bytes(size)}")


@dataclass
class Trial:
    """What a trial found: definitions that the value refers to by name, and why it cannot travel, if so."""

    refers_to: set[str] = field(default_factory=set)
    too_large: str | None = None
    refused: str | None = None


def attempt(value: Any, namespace: Mapping[str, Any], defined: Collection[str], limit: int | None) -> Trial:
    """Pickle into a sink that stops at the limit."""
    trial = Trial()
    try:
        Pickler(_Sink(limit), namespace, defined, trial.refers_to, limit).dump(value)
    except TooLargeError as error:
        trial.too_large = str(error)
    except Exception as error:
        trial.refused = f"{type(value).__name__}: {error}"
    return trial


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """cloudpickle, but what the notebook defines by name goes by name: one class on both sides, not two."""

    def __init__(
        self,
        file: Any,
        namespace: Mapping[str, Any],
        defined: Collection[str],
        refers_to: set[str],
        limit: int | None,
    ) -> None:
        super().__init__(file, protocol=5)
        self._namespace = namespace
        self._defined = defined
        self._refers_to = refers_to
        self._limit = limit

    def reducer_override(self, obj: Any) -> Any:
        size = _buffer_bytes(obj)
        if self._limit is not None and size > self._limit:
            raise TooLargeError(size, at_least=False)
        name = self._name_in_notebook(obj)
        if name is not None:
            self._refers_to.add(name)
            return in_main, (name,)
        return super().reducer_override(obj)

    def _name_in_notebook(self, obj: Any) -> str | None:
        if getattr(type(obj), "__module__", None) == "__main__" and not isinstance(obj, type):
            return None
        if not isinstance(obj, type | FunctionType) and not hasattr(obj, "__wrapped__"):
            return None
        name = str(getattr(obj, "__qualname__", ""))
        if getattr(obj, "__module__", None) != "__main__" or name not in self._defined:
            return None
        return name if self._namespace.get(name) is obj else None


class _Sink(io.RawIOBase):
    """Counts and forgets."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._size = 0

    def write(self, data: Any) -> int:
        written = memoryview(data).nbytes
        self._size += written
        if self._limit is not None and self._size > self._limit:
            raise TooLargeError(self._limit, at_least=True)
        return written


def _buffer_bytes(obj: Any) -> int:
    """The size of an array or tensor without touching its data; 0 for what does not say."""
    size = getattr(obj, "nbytes", 0) if not isinstance(obj, type) else 0
    return size if isinstance(size, int) else 0
