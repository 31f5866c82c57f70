"""The table of kept kernel states: one row for each save that may be brought back; the saved bytes are the box's."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class StateRow(Base):
    """`id` is the operation that saved it, which also names its folder below that of the workspace."""

    __tablename__ = "states"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    """Order of saving, whatever the clock says."""
    owner: Mapped[str] = mapped_column(String(255), ForeignKey("accounts.name"), index=True)
    name: Mapped[str] = mapped_column(String(30))
    """Of the workspace."""
    short: Mapped[str] = mapped_column(String(8))
    """Names the folder of that workspace."""
    kind: Mapped[str]
    note: Mapped[str] = mapped_column(Text, default="")
    reason: Mapped[str | None] = mapped_column(default=None)
    machine: Mapped[str]
    image: Mapped[str]
    taken_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    bytes: Mapped[int]
    seconds: Mapped[float]
    """What saving took; bringing it back may take as long as a save that was predicted so."""
    kernels: Mapped[list[Any]]
