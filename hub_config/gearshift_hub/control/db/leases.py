"""The table of leases: who holds what of which pool, from the instant the row exists until it is gone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class LeaseRow(Base):
    """A lease is given back by deleting its row."""

    __tablename__ = "leases"

    id: Mapped[str] = mapped_column(primary_key=True)
    pool: Mapped[str]
    machine: Mapped[str]
    amount: Mapped[dict[str, Any]]
    device_ids: Mapped[list[Any]]
    owner: Mapped[str]
    purpose: Mapped[str]
    workspace: Mapped[str | None] = mapped_column(index=True, default=None)
    job: Mapped[str | None] = mapped_column(index=True, default=None)
    operation: Mapped[str | None] = mapped_column(index=True, default=None)
    expires_at: Mapped[datetime | None] = mapped_column(default=None)
    created_at: Mapped[datetime]
