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


def to_forget(kept: Iterable[KeptState], now: datetime, bound_bytes: int) -> list[KeptState]:
    """Of one person: what is past its days; then, while they hold more than the bound, the oldest that a stop made by
    itself and that a later one replaced. What somebody asked for, and the newest of a workspace, is never pushed out.
    """
    newest_first = sorted(kept, key=lambda one: one.taken_at, reverse=True)
    gone = [one for one in newest_first if one.expires_at <= now]
    stay = [one for one in newest_first if one.expires_at > now]
    newest = {one.workspace: one.id for one in reversed(stay)}
    used = sum(one.bytes for one in stay)
    for one in reversed(stay):
        if used > bound_bytes and one.kind is StateKind.STOP and newest[one.workspace] != one.id:
            gone.append(one)
            used -= one.bytes
    return gone
