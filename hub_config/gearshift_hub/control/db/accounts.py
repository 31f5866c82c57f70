"""The table of people: sign-in, uid, and the tombstones that keep a name and uid from being given again."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class AccountRow(Base):
    """One person for ever; a deleted one stays, for the ledger and so that name and uid are not given again."""

    __tablename__ = "accounts"

    name: Mapped[str] = mapped_column(String(255), primary_key=True)
    slug: Mapped[str] = mapped_column(String(63), unique=True)
    uid: Mapped[int] = mapped_column(unique=True)
    admin: Mapped[bool] = mapped_column(default=False)
    password_hash: Mapped[str | None] = mapped_column(default=None)
    code_hash: Mapped[str | None] = mapped_column(default=None)
    disabled: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None] = mapped_column(default=None)
