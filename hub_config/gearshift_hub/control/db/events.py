"""The table of events: what happened, in the order that streams tell it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Integer
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class EventRow(Base):
    """`owner` None is for everybody; `workspace` None is for all of the owner's pages."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    at: Mapped[datetime] = mapped_column(index=True)
    kind: Mapped[str]
    owner: Mapped[str | None] = mapped_column(index=True)
    workspace: Mapped[str | None]
    data: Mapped[dict[str, Any]]

    __table_args__ = ({"sqlite_autoincrement": True},)
