"""The table of operations: each journal, what it was asked to do, and what it has made so far."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class OperationRow(Base):
    """`journal` is the model's Operation; the columns beside it are what is searched for."""

    __tablename__ = "operations"
    __table_args__ = (Index("ix_operations_workspace", "owner", "workspace"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    """Order of submission; two rows never share an instant of it."""
    kind: Mapped[str]
    owner: Mapped[str]
    workspace: Mapped[str | None]
    state: Mapped[str] = mapped_column(index=True)
    after: Mapped[str | None] = mapped_column(default=None)
    """The operation it waits for."""
    actor: Mapped[str]
    journal: Mapped[dict[str, Any]]
    params: Mapped[dict[str, Any]]
    data: Mapped[dict[str, Any]]
    """What exists because of it, recorded the moment it exists."""
    created_at: Mapped[datetime] = mapped_column(index=True)
