"""A kept kernel state: what was saved of a workspace's kernels, and the rule by which it is forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from gearshift.model.record import Instant, Record


class StateKind(StrEnum):
    """Why it was saved: with a stop, because somebody asked, or before a switch."""

    STOP = "stop"
    SNAPSHOT = "snapshot"
    SWITCH = "switch"


class KeptKernel(Record):
    """One kernel of it; `variables` are the names that come back, `lost` counts those that do not."""

    kernel_id: str
    path: str
    name: str
    variables: tuple[str, ...] = ()
    lost: int = 0


class KeptState(Record):
    """A kept state as its owner sees it."""

    id: str
    owner: str
    workspace: str
    kind: StateKind
    note: str = ""
    reason: str | None = None
    machine: str
    image: str
    taken_at: Instant
    expires_at: Instant
    bytes: int
    kernels: tuple[KeptKernel, ...] = ()

    @property
    def variables(self) -> int:
        return sum(len(kernel.variables) for kernel in self.kernels)


def pinned(kept: Iterable[KeptState], adding_to: str | None = None) -> list[KeptState]:
    """What the bound pushes out never: snapshots that somebody asked for, and the newest of each workspace. With another
    one `adding_to` a workspace, that one is going to be its newest.
    """
    newest = {one.workspace: one.id for one in _oldest_first(kept)}
    newest.pop(adding_to or "", None)
    return [one for one in kept if one.kind is StateKind.SNAPSHOT or newest.get(one.workspace) == one.id]


def to_forget(kept: Iterable[KeptState], now: datetime, bound_bytes: int) -> list[KeptState]:
    """Of one person, newest first: what is past its days; then, while they hold more than the bound, the oldest of those
    that stops and switches made by themselves and that later ones replaced.
    """
    gone = [one for one in kept if one.expires_at <= now]
    stay = [one for one in kept if one.expires_at > now]
    held = {one.id for one in pinned(stay)}
    used = sum(one.bytes for one in stay)
    for one in _oldest_first(stay):
        if used > bound_bytes and one.id not in held:
            gone.append(one)
            used -= one.bytes
    return gone


def _oldest_first(kept: Iterable[KeptState]) -> list[KeptState]:
    """Of a list whose newest comes first."""
    return list(reversed(list(kept)))
