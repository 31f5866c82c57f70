"""How large the variables of a kernel are, at a glance: nothing is copied, since memory is short when this is asked."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

OWN_WORDS = ("nbytes", "estimated_size", "memory_usage")
"""Arrays and tensors, polars, pandas."""
LOOKED_INTO = 10_000
"""Members of a container that are counted one by one; the rest as their mean."""


def largest(variables: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The largest, the largest first; a value under two names is counted once."""
    seen: set[int] = set()
    found: list[dict[str, Any]] = []
    for name, value in variables.items():
        if id(value) not in seen:
            seen.add(id(value))
            found.append({"name": name, "type": type(value).__name__, "bytes": size_of(value)})
    found.sort(key=lambda one: -int(one["bytes"]))
    return {"variables": found[:most]}


def size_of(value: Any) -> int:
    """What its own words for size say, else its members' together, one level deep."""
    own = _own_size(value)
    if isinstance(value, dict):
        return own + _members(value.values(), len(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        return own + _members(value, len(value))
    return own


def _own_size(value: Any) -> int:
    """A person's own attribute of these names may do anything, so may their `__sizeof__`."""
    for name in OWN_WORDS:
        with suppress(Exception):
            said = getattr(value, name)
            said = said() if callable(said) else said
            return int(sum(said) if hasattr(said, "__iter__") else said)
    with suppress(Exception):
        return sys.getsizeof(value)
    return 0


def _members(values: Any, count: int) -> int:
    total, looked = 0, 0
    for value in values:
        if looked == LOOKED_INTO:
            return total * count // looked
        total, looked = total + _own_size(value), looked + 1
    return total
