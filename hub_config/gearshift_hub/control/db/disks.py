"""The tables of disks: each disk, who may use it, which running workspace holds it, and how full homes are."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, ForeignKeyConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class DiskState(StrEnum):
    """`making` has a row and perhaps no folder yet; `binned` can be taken back until it is purged."""

    MAKING = "making"
    ACTIVE = "active"
    BINNED = "binned"


class DiskRow(Base):
    """A disk. Its id names the folder; its name is only shown, and is the name of the link in a home."""

    __tablename__ = "disks"
    __table_args__ = (Index("ix_disks_owner_name", "owner", "name"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(30))
    owner: Mapped[str] = mapped_column(String(255), ForeignKey("accounts.name"))
    quota_bytes: Mapped[int]
    used_bytes: Mapped[int | None] = mapped_column(default=None)
    """As measured last; None until it was."""
    measured_at: Mapped[datetime | None] = mapped_column(default=None)
    state: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime]
    binned_at: Mapped[datetime | None] = mapped_column(default=None)


class DiskMemberRow(Base):
    """Somebody who may use a disk besides its owner."""

    __tablename__ = "disk_members"

    disk: Mapped[str] = mapped_column(String(32), ForeignKey("disks.id"), primary_key=True)
    user: Mapped[str] = mapped_column(String(255), ForeignKey("accounts.name"), primary_key=True, index=True)
    mode: Mapped[str] = mapped_column(String(2))
    since: Mapped[datetime]


class DiskHoldRow(Base):
    """A disk that the last launch of a workspace was given; true while that workspace holds a machine."""

    __tablename__ = "disk_holds"
    __table_args__ = (
        ForeignKeyConstraint(
            ["owner", "workspace"],
            ["workspaces.owner", "workspaces.name"],
            name="fk_disk_holds_workspace",
            ondelete="CASCADE",
        ),
    )

    owner: Mapped[str] = mapped_column(String(255), primary_key=True)
    workspace: Mapped[str] = mapped_column(String(30), primary_key=True)
    disk: Mapped[str] = mapped_column(
        String(32), ForeignKey("disks.id", ondelete="CASCADE"), primary_key=True
    )
    mode: Mapped[str] = mapped_column(String(2))


class HomeUsageRow(Base):
    """What a person's home took up when it was measured last."""

    __tablename__ = "home_usage"

    user: Mapped[str] = mapped_column(String(255), ForeignKey("accounts.name"), primary_key=True)
    used_bytes: Mapped[int]
    measured_at: Mapped[datetime]
