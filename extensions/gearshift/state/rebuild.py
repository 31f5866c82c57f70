"""What a saved stream calls in the new kernel: functions on its namespace, cells, cached functions, files, memory.

A stream names these functions, so their names and arguments are part of the file format.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import logging
import sys
import types
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Protocol

from gearshift.state.report import Reason

Token = tuple[str, Any]
"""Which globals a function lives on: ("user", None), ("module", name) or ("private", number)."""


class Loading(Protocol):
    """The load in progress."""

    ns: dict[str, Any]
    private: dict[int, dict[str, Any]]
    notes: list[Reason]

    def definition(self, number: int) -> Any:
        """The class or function with this number, loaded when it is first asked for."""


LOADING: ContextVar[Loading] = ContextVar("gearshift_state_loading")


class GoneError(OSError):
    """A file that a variable had open is not there any more."""


def namespace() -> dict[str, Any]:
    """The user's namespace: the first thing in every stream, so that it is known by reference from then on."""
    return LOADING.get().ns


def definition(number: int) -> Any:
    """A class or function that has a stream of its own."""
    return LOADING.get().definition(number)


def segment(buffer: Any) -> memoryview:
    """Memory that arrays and tensors lie in."""
    return memoryview(buffer)


def function(
    code: types.CodeType, token: Token, name: str, closure: tuple[types.CellType, ...] | None
) -> types.FunctionType:
    """A function on its globals; cells are shared with whoever else closes over them."""
    return types.FunctionType(code, _globals(token), name, None, closure)


def set_function(made: types.FunctionType, state: Mapping[str, Any]) -> None:
    """Everything of a function that can be set afterwards; a private namespace gets the globals it uses."""
    for name, value in state["attributes"].items():
        setattr(made, name, value)
    made.__dict__.update(state["dict"])
    for name, value in state["globals"].items():
        made.__globals__[name] = value


def cell() -> types.CellType:
    """An empty cell; filled by `set_cell` once everything that refers to it is known."""
    return types.CellType()


def set_cell(made: types.CellType, state: tuple[Any]) -> None:
    made.cell_contents = state[0]


def cached(wrapped: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
    """An `lru_cache` function with an empty cache."""
    return functools.lru_cache(maxsize=maxsize, typed=typed)(wrapped)


def set_dict(made: Any, state: Mapping[str, Any]) -> None:
    made.__dict__.update(state)


def logger(name: str | None, level: int, disabled: bool, propagate: bool) -> logging.Logger:
    """A logger by name with its settings; handlers belong to the process."""
    found = logging.getLogger(name)
    found.setLevel(level)
    found.disabled = disabled
    found.propagate = propagate
    return found


def opened(path: str, mode: str, options: Mapping[str, Any], position: int) -> IO[Any]:
    """A file open for reading, at the same place."""
    if not Path(path).is_file():
        raise GoneError(path)
    file = open(path, mode, **options)  # noqa: SIM115 - handed to the variable that had it
    file.seek(position)
    return file


def memory_view(base: Any, shape: tuple[int, ...], form: str, readonly: bool) -> memoryview:
    """A memoryview of the whole of another object."""
    view: memoryview[Any] = memoryview(base)
    if shape:
        view = view.cast("B").cast(form, shape)  # type: ignore[call-overload]  # any native format
    return view.toreadonly() if readonly else view


def standard_stream(name: str) -> Any:
    """`sys.stdout` and its sisters, whatever the new kernel has put there."""
    return getattr(sys, name)


def shell() -> Any:
    """The IPython shell."""
    core = importlib.import_module("IPython")
    return core.get_ipython()


def _globals(token: Token) -> dict[str, Any]:
    kind, key = token
    loading = LOADING.get()
    if kind == "user":
        return loading.ns
    if kind == "module":
        return importlib.import_module(key).__dict__
    made = loading.private.setdefault(key, {})
    made.setdefault("__builtins__", builtins)
    return made
