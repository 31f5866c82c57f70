"""A digest of what a value is made of, equal in both kernels unless something changed on the way.

Looks into plain containers and instances of the notebook's own classes; of anything else it takes the type, since
libraries may rightly rebuild their caches. Array contents are left to the checksums of the file.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterable, Iterator
from typing import Any

MOST_PARTS = 20_000
"""Larger values are compared by their first parts."""

_SCALARS = (float, complex, bool, str, bytes, bytearray, type(None))


def fingerprint(value: Any, ns: object = None) -> str:
    """The digest as hex; the namespace itself is not looked into. Empty where the value's own code refuses."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        for word in _Walk(ns).words(value):
            digest.update(word.encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
    except Exception:  # attributes, iteration and repr may run anybody's code
        return ""
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
            return f"{kind.__name__}:{sorted(fingerprint(part, self._ns) for part in item)}", ()
        return None

    def _object(self, item: Any, kind: type) -> tuple[str, Iterable[Any]]:
        if kind is types.FunctionType:
            return f"function:{item.__qualname__}:{item.__code__.co_code.hex()}", ()
        if issubclass(kind, type):
            return f"class:{item.__qualname__}:{','.join(sorted(k for k in vars(item) if k[:2] != '__'))}", ()
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind.__module__ == "__main__":
            return name, _attributes(item, kind)
        if f"{kind.__module__.partition('.')[0]}" in ("numpy", "torch"):
            return f"{name}:{getattr(item, 'shape', '')}:{getattr(item, 'dtype', '')}", ()
        return name, ()


def _attributes(item: Any, kind: type) -> list[Any]:
    found = dict(getattr(item, "__dict__", {}))
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(item, slot):
                found[slot] = getattr(item, slot)
    if issubclass(kind, (list, tuple)):
        found["items"] = list(item)
    elif issubclass(kind, dict):
        found["items"] = [part for pair in dict.items(item) for part in pair]
    return [part for pair in found.items() for part in pair]
