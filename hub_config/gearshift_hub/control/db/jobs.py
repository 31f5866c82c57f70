"""The table of jobs: what was asked for, where it stands, and what was read of it so far."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class JobRow(Base):
    """A job for ever: the ledger names it. Its tree and its leases exist only while it holds a machine."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    """Order of submission."""
    owner: Mapped[str] = mapped_column(String(255), ForeignKey("accounts.name"), index=True)
    workspace: Mapped[str | None] = mapped_column(default=None)
    """`owner/name` of the workspace it was sent from."""
    plan: Mapped[str | None] = mapped_column(unique=True, default=None)
    """The plan whose confirmation made it."""
    spec: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(index=True)
    reason: Mapped[str | None] = mapped_column(default=None)
    ending: Mapped[str | None] = mapped_column(default=None)
    """Why we are ending it, decided before it has ended."""
    ended_by: Mapped[str | None] = mapped_column(default=None)
    note: Mapped[str] = mapped_column(Text, default="")
    priority: Mapped[int] = mapped_column(default=0)
    overtaken: Mapped[int] = mapped_column(default=0)
    retried: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Word of a retry -> how often control put it back in line for it."""
    not_before: Mapped[datetime | None] = mapped_column(default=None)
    """Put back in line, it waits so long before it is tried again."""
    price_per_hour_nano: Mapped[int]
    cap_nano: Mapped[int | None] = mapped_column(default=None)
    cost_nano: Mapped[int | None] = mapped_column(default=None)
    """Once it has ended; before, the ledger is asked."""
    tree: Mapped[str | None] = mapped_column(default=None)
    status: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """What its supervisor said last."""
    metrics_last: Mapped[dict[str, Any] | None] = mapped_column(default=None)
    created_at: Mapped[datetime] = mapped_column(index=True)
    started_at: Mapped[datetime | None] = mapped_column(default=None)
    running_at: Mapped[datetime | None] = mapped_column(default=None)
    ended_at: Mapped[datetime | None] = mapped_column(default=None, index=True)
    files_gone_at: Mapped[datetime | None] = mapped_column(default=None)
    """When its folder was removed."""
