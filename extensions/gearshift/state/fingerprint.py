"""A digest of what a value is made of, equal in both kernels unless something changed on the way.

Looks into plain containers and instances of the notebook's own classes; of anything else it takes the type, since
libraries may rightly rebuild their caches. Array contents are left to the checksums of the file.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterable, Iterator
from typing import Any

from gearshift.state.bounded import attempt
from gearshift.state.kinds import bases_of, module_of, path_of

MOST_PARTS = 20_000
"""Larger values are compared by their first parts."""

_SCALARS = (float, complex, bool, str, bytes, bytearray, type(None))


def fingerprint(value: Any, ns: object = None) -> str:
    """The digest as hex; the namespace itself is not looked into. Empty where the value's own code refuses."""
    found, _ = attempt(lambda: _digest(value, ns))  # attributes, iteration and repr may run anybody's code
    return found or ""


def _digest(value: Any, ns: object) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for word in _Walk(ns).words(value):
        digest.update(word.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


class _Walk:
    def __init__(self, ns: object) -> None:
        self._ns = ns
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []

    def words(self, value: Any) -> Iterator[str]:
        waiting: list[Any] = [value]
        count = 0
        while waiting and count < MOST_PARTS:
            count += 1
            item = waiting.pop()
            word, inside = self._look(item)
            yield word
            waiting.extend(reversed(list(inside)))

    def _look(self, item: Any) -> tuple[str, Iterable[Any]]:
        kind = type(item)
        if kind is int:
            return f"int:{item:x}", ()  # decimal text of very long numbers is refused by Python itself
        if kind in _SCALARS:
            return f"{kind.__name__}:{item!r}", ()
        if item is self._ns:
            return "namespace", ()
        known = self._seen.setdefault(id(item), len(self._seen))
        if known != len(self._seen) - 1:
            return f"again:{known}", ()
        self._alive.append(item)
        return self._container(item, kind) or self._object(item, kind)

    def _container(self, item: Any, kind: type) -> tuple[str, Iterable[Any]] | None:
        if kind in (list, tuple):
            return f"{kind.__name__}:{len(item)}", item
        if kind is dict:
            return f"dict:{len(item)}", (part for pair in item.items() for part in pair)
        if kind in (set, frozenset):
            return f"{kind.__name__}:{sorted(_digest(part, self._ns) for part in item)}", ()
        return None

    def _object(self, item: Any, kind: type) -> tuple[str, Iterable[Any]]:
        if kind is types.FunctionType:
            code = item.__code__
            taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            return f"function:{item.__qualname__}:{','.join(taken)}", ()
        if issubclass(kind, type) and module_of(item) != "__main__":
            return f"class:{path_of(item)}", ()
        if issubclass(kind, type):
            return f"class:{item.__qualname__}:{','.join(sorted(k for k in vars(item) if k[:1] != '_'))}", ()
        name, module = path_of(kind), module_of(kind)
        if module == "__main__":
            return name, _attributes(item, kind)
        if module.partition(".")[0] in ("numpy", "torch"):
            return f"{name}:{getattr(item, 'shape', '')}:{getattr(item, 'dtype', '')}", ()
        return name, ()


def _attributes(item: Any, kind: type) -> list[Any]:
    found = dict(getattr(item, "__dict__", {}))
    for base in bases_of(kind):
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(item, slot):
                found[slot] = getattr(item, slot)
    if issubclass(kind, (list, tuple)):
        found["items"] = list(item)
    elif issubclass(kind, dict):
        found["items"] = [part for pair in dict.items(item) for part in pair]
    return [part for pair in found.items() for part in pair]
