"""Bringing a database to the newest schema; one that exists is copied aside before it is changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

MIGRATIONS = Path(__file__).parent / "migrations"


def config() -> Config:
    made = Config()
    made.set_main_option("script_location", str(MIGRATIONS))
    made.set_main_option("path_separator", "os")
    return made


def upgrade(engine: Engine, backups: Path | None = None) -> str | None:
    """Apply what is missing; returns the revision that it came from, None for an empty database."""
    made = config()
    newest = ScriptDirectory.from_config(made).get_current_head()
    with engine.connect() as connection:
        before: str | None = MigrationContext.configure(connection).get_current_revision()
    if before == newest:
        return before
    if before is not None and backups is not None:
        back_up(engine, backups, before)
    with engine.begin() as connection:
        made.attributes["connection"] = connection
        command.upgrade(made, "head")
    return before


def back_up(engine: Engine, folder: Path, revision: str) -> Path | None:
    """A copy of an SQLite database, whole even while it is in use. Other databases are backed up by their own means."""
    if engine.dialect.name != "sqlite" or not engine.url.database:
        return None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = folder / f"control-{revision}-{datetime.now(UTC):%Y%m%dT%H%M%S}.sqlite"
    with closing(sqlite3.connect(engine.url.database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    copy.chmod(0o600)
    return copy
