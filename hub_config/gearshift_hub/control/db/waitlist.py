"""The table of the waitlist: who waits for which machine, how, and what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class WaitRow(Base):
    """`lease` is what is held for it; what is agreed to is in the row before anything is done."""

    __tablename__ = "waitlist"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    """Order of coming."""
    owner: Mapped[str] = mapped_column(String(255), ForeignKey("accounts.name"), index=True)
    name: Mapped[str] = mapped_column(String(30))
    """Of the workspace."""
    display_name: Mapped[str]
    kind: Mapped[str]
    spec: Mapped[dict[str, Any]]
    mode: Mapped[str]
    cap_nano: Mapped[int | None] = mapped_column(default=None)
    max_cost_nano: Mapped[int | None] = mapped_column(default=None)
    until: Mapped[datetime]
    state: Mapped[str] = mapped_column(index=True)
    overtaken: Mapped[int] = mapped_column(default=0)
    lease: Mapped[str | None] = mapped_column(default=None)
    held_until: Mapped[datetime | None] = mapped_column(default=None)
    begun_at: Mapped[datetime | None] = mapped_column(default=None)
    why: Mapped[dict[str, Any] | None] = mapped_column(default=None)
    error: Mapped[dict[str, Any] | None] = mapped_column(default=None)
    operation: Mapped[str | None] = mapped_column(default=None)
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None] = mapped_column(default=None)

    @property
    def workspace(self) -> str:
        """`owner/name`."""
        return f"{self.owner}/{self.name}"
