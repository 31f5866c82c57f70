"""The table of plans: figures shown to one person, to be confirmed once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class PlanRow(Base):
    """`used_at` is set by the one confirmation, whatever comes of it."""

    __tablename__ = "plans"

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    user: Mapped[str] = mapped_column(index=True)
    body: Mapped[dict[str, Any]]
    figures: Mapped[dict[str, Any]]
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None] = mapped_column(default=None)
