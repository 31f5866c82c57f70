"""The table of workspaces: what each owner wants, what was observed last, and what a start needs to know."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from gearshift_hub.control.db.base import Base


class WorkspaceRow(Base):
    """`short` names its folders and trees, once and for all; `generation` counts its launches."""

    __tablename__ = "workspaces"

    owner: Mapped[str] = mapped_column(String(255), ForeignKey("accounts.name"), primary_key=True)
    name: Mapped[str] = mapped_column(String(30), primary_key=True)
    display_name: Mapped[str]
    short: Mapped[str] = mapped_column(String(8), unique=True)
    generation: Mapped[int] = mapped_column(default=0)
    spec: Mapped[dict[str, Any]]
    state: Mapped[str]
    reason: Mapped[str | None] = mapped_column(default=None)
    since: Mapped[datetime]
    operation: Mapped[str | None] = mapped_column(default=None)
    url: Mapped[str | None] = mapped_column(default=None)
    port: Mapped[int | None] = mapped_column(default=None)
    pid: Mapped[int | None] = mapped_column(default=None)
    tree: Mapped[str | None] = mapped_column(default=None)
    ready_at: Mapped[datetime | None] = mapped_column(default=None)
    seen_at: Mapped[datetime | None] = mapped_column(default=None)
    """When it was last seen alive."""
    active_at: Mapped[datetime | None] = mapped_column(default=None)
    """The hub's last activity."""
    cost_cap_nano: Mapped[int | None] = mapped_column(default=None)
    """Stop once it has cost this much since `ready_at`: the cap that a spend token named."""
    deleted_at: Mapped[datetime | None] = mapped_column(default=None)
    """Hidden since then; a new one of this name takes the row over, so that no tree's name comes twice."""

    @property
    def id(self) -> str:
        return f"{self.owner}/{self.name}"
