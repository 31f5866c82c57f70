"""Knows stretches of this process's memory by address, so that whoever shares memory goes on sharing it.

An array, its views, a tensor made from it and that tensor's storage all lie in one segment. Segments that turn out to
overlap become one; those who used a part before are then written again (`Segment.root`).
"""

from __future__ import annotations

import bisect
import ctypes
import pickle
from collections.abc import Iterator
from typing import Any

from gearshift.state.rebuild import segment


class Segment:
    """`[start, stop)`; `owners` keep the memory alive while it is being saved."""

    __slots__ = ("merged_into", "owners", "start", "stop")

    def __init__(self, start: int, stop: int, owners: list[Any]) -> None:
        self.start, self.stop = start, stop
        self.owners = owners
        self.merged_into: Segment | None = None

    @property
    def root(self) -> Segment:
        """The segment that this one is now part of."""
        found = self
        while found.merged_into is not None:
            found = found.merged_into
        return found

    @property
    def nbytes(self) -> int:
        return self.stop - self.start

    def view(self) -> memoryview:
        """The memory itself, not a copy."""
        return host_memory(self.start, self.nbytes)

    def pieces(self) -> Iterator[memoryview]:
        """All of it, in order, as the host can read it."""
        yield self.view()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return segment, (pickle.PickleBuffer(self.view()),)


def host_memory(start: int, nbytes: int) -> memoryview:
    """Bytes of this process by address; whoever owns them must stay alive."""
    return memoryview((ctypes.c_ubyte * nbytes).from_address(start)).cast("B")


class Memory:
    """All segments seen while saving, by address; none overlaps another. Addresses of a device are a space of their
    own: a `Memory` for it notes what is used where that of the `host` does."""

    def __init__(self, make: type[Segment] = Segment, host: Memory | None = None) -> None:
        self._make = make
        self._host = host or self
        self._starts: list[int] = []
        self._segments: list[Segment] = []
        self.used: dict[int, Segment] = {}
        """Where each segment that is asked for is noted, by id; a capture puts a fresh one here for each stream."""

    def use(self, segment: Segment) -> Segment:
        """Notes that the stream in hand needs it."""
        self._host.used[id(segment)] = segment
        return segment

    def at(self, start: int, nbytes: int, owner: Any) -> Segment:
        """The segment that holds these bytes: a known one, a new one, or several grown together."""
        return self.use(self._at(start, nbytes, owner))

    def _at(self, start: int, nbytes: int, owner: Any) -> Segment:
        stop = start + nbytes
        first = bisect.bisect_right(self._starts, start)
        if first and self._segments[first - 1].stop > start:
            first -= 1
        last = bisect.bisect_left(self._starts, stop)
        touched = self._segments[first:last]
        if len(touched) == 1 and touched[0].start <= start and stop <= touched[0].stop:
            touched[0].owners.append(owner)
            return touched[0]
        made = self._make(
            min([start, *(s.start for s in touched)]),
            max([stop, *(s.stop for s in touched)]),
            [owner, *(o for s in touched for o in s.owners)],
        )
        for old in touched:
            old.merged_into = made
        self._segments[first:last] = [made]
        self._starts[first:last] = [made.start]
        return made
