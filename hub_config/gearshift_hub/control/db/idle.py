"""The tables of the idle rule: what each workspace's owner chose and its clock; and notices that wait to be sent."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKeyConstraint, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class IdleRow(Base):
    """One per workspace, made when it is first needed."""

    __tablename__ = "idle"
    __table_args__ = (
        ForeignKeyConstraint(["owner", "name"], ["workspaces.owner", "workspaces.name"], ondelete="CASCADE"),
    )

    owner: Mapped[str] = mapped_column(String(255), primary_key=True)
    name: Mapped[str] = mapped_column(String(30), primary_key=True)
    action: Mapped[str | None] = mapped_column(default=None)
    """What its owner chose; None is the deployment's own."""
    after_s: Mapped[float | None] = mapped_column(default=None)
    keep_until: Mapped[datetime | None] = mapped_column(default=None)
    end: Mapped[dict[str, Any] | None] = mapped_column(default=None)
    """What was asked for at the end of work."""
    since: Mapped[datetime | None] = mapped_column(default=None)
    """Since when it is ready, as the clock knows it; another one makes a new clock (case C18)."""
    clock: Mapped[dict[str, Any] | None] = mapped_column(default=None)
    told: Mapped[dict[str, Any] | None] = mapped_column(default=None)
    """What its pages were told last."""


class NoticeRow(Base):
    """One notice on one way out; gone once it was sent, or given up."""

    __tablename__ = "notices"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=True)
    channel: Mapped[str] = mapped_column(String(16))
    owner: Mapped[str] = mapped_column(String(255))
    body: Mapped[dict[str, Any]]
    tries: Mapped[int] = mapped_column(default=0)
    due_at: Mapped[datetime]
