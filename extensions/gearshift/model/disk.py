"""What a disk is: storage with an id, an owner, a quota, and members who may read or write."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gearshift.model.record import Instant, Record
from gearshift.model.workspace import DiskMount, Mode

__all__ = ["Disk", "DiskMount", "Member", "Mode"]


class Member(Record):
    """Somebody who may use a disk."""

    user: str
    mode: Mode


class Disk(Record):
    """A disk as one person sees it: `mode_for_me` is None for an admin who is no member; `used_bytes` may be unknown;
    `attached_to` names the workspaces of this person whose processes have it at this moment."""

    id: str
    name: str
    owner: str
    quota_bytes: Annotated[int, Field(ge=0)]
    used_bytes: int | None = None
    members: tuple[Member, ...] = ()
    mode_for_me: Mode | None = None
    path_hint: str | None = None
    attached_to: tuple[str, ...] = ()
    created_at: Instant | None = None
