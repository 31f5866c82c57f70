"""The tables of money: intervals that were held, and the hash-chained entries that follow from them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class IntervalRow(Base):
    """One subject holds at most one open interval: the database says so too."""

    __tablename__ = "intervals"
    __table_args__ = (
        Index(
            "uq_intervals_open_subject",
            "subject",
            unique=True,
            sqlite_where=text("closed_at IS NULL"),
            postgresql_where=text("closed_at IS NULL"),
        ),
        CheckConstraint("closed_at IS NULL OR closed_at >= opened_at", name="in_order"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(index=True)
    subject: Mapped[str] = mapped_column(index=True)
    machine: Mapped[str]
    price_per_hour_nano: Mapped[int]
    device_milli: Mapped[int]
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None] = mapped_column(index=True, default=None)
    source: Mapped[str] = mapped_column(unique=True)
    billed_until: Mapped[datetime]


class EntryRow(Base):
    """A line of the ledger; never changed, never deleted."""

    __tablename__ = "entries"
    __table_args__ = (
        UniqueConstraint("source", "period_from", "period_to", name="uq_entries_source_period"),
    )

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    account: Mapped[str] = mapped_column(index=True)
    kind: Mapped[str]
    amount_nano: Mapped[int]
    source: Mapped[str]
    period_from: Mapped[datetime | None]
    period_to: Mapped[datetime | None]
    price_per_hour_nano: Mapped[int | None]
    note: Mapped[str]
    prev_hash: Mapped[str] = mapped_column(String(64), unique=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
