"""Waiting for a machine that is sold out: held for whoever asked to be asked, or taken once by itself under a cap.

waiting    in line for the machine
held       the machine is held for them until `held_until`; one press starts or switches
begun      it starts or switches by itself, as was agreed
done       the start or switch has begun; `operation` names it
passed     the time of the hold was over, and it was given to the next in line
lapsed     the time of the hold was over, and nobody was next
over       its own time was over before a machine was free
withdrawn  its owner took it back, or went another way
failed     what was agreed could not be done; `error` says why
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from gearshift.model.record import Instant, Record
from gearshift.model.workspace import WorkspaceSpec


class WaitKind(StrEnum):
    """What is waited for."""

    START = "start"
    SWITCH = "switch"


class WaitMode(StrEnum):
    """What happens when the machine is free: its owner is asked, or it happens by itself, once."""

    ASK = "ask"
    ITSELF = "itself"


class WaitState(StrEnum):
    """Where it stands."""

    WAITING = "waiting"
    HELD = "held"
    BEGUN = "begun"
    DONE = "done"
    PASSED = "passed"
    LAPSED = "lapsed"
    OVER = "over"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        return self not in LIVE


LIVE = (WaitState.WAITING, WaitState.HELD, WaitState.BEGUN)


class Wait(Record):
    """One wait as its owner sees it. `cap_nano` is the price per hour agreed to, `until` the end of what was agreed."""

    id: str
    owner: str
    workspace: str
    kind: WaitKind
    spec: WorkspaceSpec
    mode: WaitMode
    cap_nano: int | None = None
    until: Instant
    state: WaitState
    position: int | None = None
    of: int | None = None
    starts_at: Instant | None = None
    """When its turn is expected, as far as that can be known."""
    held_until: Instant | None = None
    others_wait: bool = False
    """Somebody is next in line: the hold cannot be made longer."""
    why: str | None = None
    why_zh: str | None = None
    """Why it has not begun although the machine is held."""
    error: dict[str, Any] | None = None
    operation: str | None = None
    created_at: Instant
    ended_at: Instant | None = None
