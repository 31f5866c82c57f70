"""Finds which variables must be written together: those that share an object whose identity matters.

Follows Kishu's co-variables (VLDB 2025): variables are linked when what they reach overlaps. What they reach is what
pickle met while writing them. Classes and functions have numbers of their own and link nobody.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import logging
import numbers
import pathlib
import re
import types
import uuid
from collections.abc import Container, Hashable, Iterable, Mapping
from typing import Any

from gearshift.state.functions import CACHED, importable
from gearshift.state.kinds import bases_of, path_of
from gearshift.state.memory import Segment

_PLAIN: tuple[type, ...] = (
    str,
    bytes,
    numbers.Number,
    tuple,
    frozenset,
    range,
    slice,
    type,
    enum.Enum,
    types.ModuleType,
    types.CodeType,
    types.BuiltinFunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GenericAlias,
    types.UnionType,
    logging.Logger,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    decimal.Decimal,
    fractions.Fraction,
    pathlib.PurePath,
    re.Pattern,
    uuid.UUID,
    Segment,  # linked by the segment that it has become part of
)
_PLAIN_NAMES = frozenset(
    {
        "numpy.generic",
        "numpy.dtype",
        "numpy.ufunc",
        "torch.dtype",
        "torch.device",
        "torch.layout",
        "torch.Size",
    }
)


def shared_parts(met: Mapping[int, tuple[int, Any]], numbered: Container[int]) -> dict[int, Any]:
    """Of all objects that a stream met, by id, those through which a link would be felt; `numbered` are functions
    written by number. The caller keeps them alive: an id means something only as long as its object lives."""
    plain = _PLAIN_TYPES
    parts = {key: thing for key, (_, thing) in met.items() if not plain[type(thing)]}
    known = [
        key
        for key, thing in parts.items()
        if type(thing) in _BY_NAME and (key in numbered or importable(thing))
    ]
    for key in known:
        del parts[key]
    return parts


_BY_NAME = (types.FunctionType, CACHED)


class _PlainTypes(dict[type, bool]):
    """Whether objects of a type may be two without anybody noticing; asked a million times, so it is a dict."""

    def __missing__(self, kind: type) -> bool:
        names = (path_of(base) for base in bases_of(kind))
        self[kind] = found = issubclass(kind, _PLAIN) or not _PLAIN_NAMES.isdisjoint(names)
        return found


_PLAIN_TYPES = _PlainTypes()


class Groups:
    """Union-find over numbered nodes."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))
        self._holder: dict[Hashable, int] = {}

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self._find(one), self._find(other)))
        self._parent[second] = first

    def hold(self, node: int, keys: Iterable[Hashable]) -> None:
        """Whoever holds the same key is in the same group."""
        for key in keys:
            other = self._holder.setdefault(key, node)
            if other != node:
                self.join(node, other)

    def all(self, nodes: Iterable[int]) -> list[list[int]]:
        """The groups of these nodes, each in order, by their first node."""
        found: dict[int, list[int]] = {}
        for node in nodes:
            found.setdefault(self._find(node), []).append(node)
        return list(found.values())

    def _find(self, node: int) -> int:
        while self._parent[node] != node:
            self._parent[node] = self._parent[self._parent[node]]
            node = self._parent[node]
        return node


def cycles(needs: Mapping[int, set[int]]) -> list[tuple[int, int]]:
    """Pairs that need each other, directly or through others: they are written together."""
    reach = {node: _reachable(node, needs) for node in needs}
    return [(a, b) for a in reach for b in reach[a] if a < b and a in reach.get(b, ())]


def _reachable(start: int, needs: Mapping[int, set[int]]) -> set[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        for node in needs.get(waiting.pop(), ()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found
