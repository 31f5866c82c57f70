"""The table of timings: how long each stage of an operation really took, and how many bytes it had in hand."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class TimingRow(Base):
    """One stage that was done; predictions are made from the newest ones."""

    __tablename__ = "timings"
    __table_args__ = (Index("ix_timings_stage", "stage", "kind", "at"),)

    operation: Mapped[str] = mapped_column(String(64), primary_key=True)
    stage: Mapped[str] = mapped_column(String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    """Of the operation."""
    owner: Mapped[str] = mapped_column(String(255))
    at: Mapped[datetime]
    bytes: Mapped[int]
    seconds: Mapped[float]
    """Without what a plan knows beforehand: looking at the objects, cells that run again, waiting for a cell."""
