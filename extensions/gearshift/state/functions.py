"""Reduces functions to their code and the namespace they live on, so that redefining a helper later takes effect."""

from __future__ import annotations

import functools
import logging
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from gearshift.state import rebuild

CACHED: type = type(functools.lru_cache(lambda: None))

_ATTRIBUTES = ("__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__", "__annotations__")


def importable(thing: Any) -> bool:
    """Whether a function or class is found again by its module and name in a fresh interpreter."""
    name = getattr(thing, "__module__", None)
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None or name in {"__main__", "__mp_main__"} or not _has_source(module):
        return False
    found: Any = module
    for part in str(getattr(thing, "__qualname__", "")).split("."):
        found = getattr(found, part, None)
    return found is thing


class Namespaces:
    """Gives every globals dict its token: the user's, a module's, or a private one such as that of `%run`."""

    def __init__(self, ns: dict[str, Any]) -> None:
        self._ns = ns
        self._private: dict[int, tuple[int, dict[str, Any]]] = {}

    def token(self, namespace: dict[str, Any]) -> rebuild.Token:
        if namespace is self._ns:
            return ("user", None)
        name = namespace.get("__name__")
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is not None and module.__dict__ is namespace and name != "__main__" and _has_source(module):
            return ("module", name)
        number, _ = self._private.setdefault(id(namespace), (len(self._private), namespace))
        return ("private", number)


def reduce_function(made: types.FunctionType, token: rebuild.Token) -> tuple[Any, ...]:
    """Globals are written only for private namespaces, and only those that the code names."""
    private = token[0] == "private"
    state = {
        "attributes": {name: getattr(made, name) for name in _ATTRIBUTES},
        "dict": made.__dict__,
        "globals": _used_globals(made) if private else {},
    }
    parts = (made.__code__, token, made.__name__, made.__closure__)
    return rebuild.function, parts, state, None, None, rebuild.set_function


def reduce_cell(made: types.CellType) -> tuple[Any, ...]:
    """The cell itself, so that two closures over one variable go on sharing it."""
    try:
        content = made.cell_contents
    except ValueError:
        return rebuild.cell, ()
    return rebuild.cell, (), (content,), None, None, rebuild.set_cell


def reduce_cached(made: Any) -> Any:
    """An `lru_cache` function of a cell; a module's own is found by name."""
    if importable(made):
        return NotImplemented
    settings = made.cache_parameters()
    state = {name: value for name, value in made.__dict__.items() if name != "__wrapped__"}
    return rebuild.cached, (made.__wrapped__, *settings.values()), state, None, None, rebuild.set_dict


def reduce_logger(made: logging.Logger) -> tuple[Any, ...]:
    name = None if isinstance(made, logging.RootLogger) else made.name
    return rebuild.logger, (name, made.level, made.disabled, made.propagate)


def reduce_memoryview(view: memoryview) -> Any:
    """A view of all of an object stays one; a view of a part becomes a view of its own bytes."""
    if view.contiguous and view.obj is not None and view.nbytes == memoryview(view.obj).nbytes:
        shape = tuple(view.shape or ())
        return rebuild.memory_view, (view.obj, shape, view.format, view.readonly)
    own = view.tobytes() if view.readonly else bytearray(view.tobytes())
    return memoryview, (own,)


def reduce_weak_dict(made: Any) -> tuple[Any, ...]:
    """What is alive in it; `functools.singledispatch` keeps one in its closure."""
    return type(made), (dict(made),)


def _used_globals(made: types.FunctionType) -> dict[str, Any]:
    known = made.__globals__
    return {name: known[name] for name in _names(made.__code__) if name in known and name != "__builtins__"}


def _names(code: types.CodeType) -> Iterator[str]:
    yield "__name__"
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _has_source(module: types.ModuleType) -> bool:
    """Modules made at run time have neither a spec nor a file: a fresh interpreter cannot import them."""
    return getattr(module, "__spec__", None) is not None or getattr(module, "__file__", None) is not None


def standard_streams() -> Mapping[int, tuple[Any, ...]]:
    """Objects that are one of a kind in any kernel, by id, with how the new kernel finds its own."""
    found = {id(getattr(sys, name)): name for name in ("stdin", "stdout", "stderr")}
    return {key: (rebuild.standard_stream, (name,)) for key, name in found.items()}
