"""What a workspace is: what its owner wants (the spec) and what is (the state)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gearshift.model.machine import Plan
from gearshift.model.record import Input, Instant, Record


class Mode(StrEnum):
    """What a member may do on a disk."""

    RO = "ro"
    RW = "rw"

    def allows(self, wanted: Mode) -> bool:
        return self is Mode.RW or wanted is Mode.RO


class DiskMount(Input):
    """A disk as a workspace holds it."""

    disk: str
    mode: Mode = Mode.RW


class WorkspaceSpec(Input):
    """What the owner wants: the same fields in the start form, the API and the database."""

    image: str
    machine: str
    plan: Plan = Plan.ON_DEMAND
    disks: Annotated[tuple[DiskMount, ...], Field(max_length=64)] = ()
    datasets: Annotated[tuple[str, ...], Field(max_length=256)] = ()


class WorkspaceState(StrEnum):
    """What a workspace is doing, by what was observed last."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    SWITCHING = "switching"
    STOPPING = "stopping"
    STOPPING_UNCONFIRMED = "stopping_unconfirmed"
    FAILED = "failed"
    NEEDS_ATTENTION = "needs_attention"

    @property
    def is_moving(self) -> bool:
        """An operation is at work on it."""
        return self in {self.STARTING, self.SWITCHING, self.STOPPING}

    @property
    def holds_machine(self) -> bool:
        """Something may be running, so its lease must stay."""
        return self.is_moving or self in {self.READY, self.STOPPING_UNCONFIRMED}

    @property
    def can_start(self) -> bool:
        return self in {self.STOPPED, self.FAILED}


class Workspace(Record):
    """A workspace as everybody sees it."""

    owner: str
    name: str
    display_name: str
    spec: WorkspaceSpec
    state: WorkspaceState
    reason: str | None = None
    since: Instant
    operation: str | None = None
    url: str | None = None
    interval_open: bool = False
    price_per_hour_nano: int | None = None

    @property
    def id(self) -> str:
        return f"{self.owner}/{self.name}"
