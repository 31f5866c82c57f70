"""The database: one writer, transactions that wait for nothing, instants with a zone, migrations equal to the tables."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from gearshift_hub.control.db import make_migration
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.db.migrate import upgrade
from gearshift_hub.control.db.operations import OperationRow
from gearshift_hub.control.db.tables import metadata
from gearshift_hub.control.writer_lock import NotTheWriterError, WriterLock
from gearshift_testing.postgres import Postgres
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError


def test_the_migrations_make_exactly_the_tables(database_url: str) -> None:
    db = Database(database_url)
    with db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata())
    db.close()
    assert differences == []


def test_the_first_migration_is_what_would_be_generated_now() -> None:
    assert make_migration.FIRST.read_text() == make_migration.text()


def test_an_upgrade_of_an_empty_database_can_be_repeated(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path / 'x.sqlite'}")
    assert upgrade(db.engine, tmp_path / "backups") is None
    assert upgrade(db.engine, tmp_path / "backups") == "0001"
    db.close()
    assert not (tmp_path / "backups").exists()


def test_what_is_raised_inside_rolls_back(database_url: str) -> None:
    db = Database(database_url)

    def fails() -> None:
        with db.transaction() as session:
            session.add(_operation("op-1", 1))
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    with db.transaction() as session:
        assert session.scalars(select(OperationRow)).all() == []
    db.close()


async def test_an_await_inside_a_transaction_is_found_out(database_url: str) -> None:
    db = Database(database_url)

    async def wrong() -> None:
        with db.transaction():
            await asyncio.sleep(0)

    async def other() -> None:
        with db.transaction():
            pass

    with pytest.raises(RuntimeError, match="never await inside"):
        await asyncio.gather(wrong(), other())
    db.close()


def test_instants_come_back_in_utc_and_need_a_zone(database_url: str) -> None:
    db = Database(database_url)
    east = datetime(2026, 11, 30, 20, 0, 0, 123456, tzinfo=timezone(timedelta(hours=8)))
    with db.transaction() as session:
        session.add(_operation("op-1", 1, east))
    with db.transaction() as session:
        found = session.get_one(OperationRow, "op-1").created_at
    assert (found, found.tzinfo) == (east, UTC)
    with pytest.raises(Exception, match="needs a zone"), db.transaction() as session:
        session.add(_operation("op-2", 2, datetime(2026, 11, 30)))
    db.close()


def test_the_database_itself_refuses_a_second_open_interval(database_url: str) -> None:
    from gearshift_hub.control.db.ledger import IntervalRow

    db = Database(database_url)
    now = datetime(2026, 11, 30, tzinfo=UTC)

    def interval(id: str) -> IntervalRow:
        return IntervalRow(
            id=id, owner="a", subject="s", machine="m", price_per_hour_nano=1, device_milli=0,
            opened_at=now, source=id, billed_until=now,
        )  # fmt: skip

    with pytest.raises(IntegrityError), db.transaction() as session:
        session.add_all([interval("1"), interval("2")])
    db.close()


HOLDER = """
import sys, time
from pathlib import Path
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.writer_lock import WriterLock
db = Database(sys.argv[2])
lock = WriterLock.take(Path(sys.argv[1]), db.engine)
print("held", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, None])
def test_a_newcomer_ends_its_predecessor_and_takes_over(
    database_url: str, tmp_path: Path, how: int | None
) -> None:
    path = tmp_path / "control.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), database_url], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    if how is not None:
        os.kill(holder.pid, how)
        holder.wait(10)
    db = Database(database_url)
    lock = WriterLock.take(path, db.engine)
    assert holder.wait(10) != 0
    assert lock.still_held()
    lock.release()
    db.close()
    holder.stdout.close()


def test_two_boxes_cannot_write_to_one_postgresql(postgres: Postgres, tmp_path: Path) -> None:
    db, other = Database(postgres.create("locked")), Database(postgres.url("locked"))
    first = WriterLock.take(tmp_path / "a.lock", db.engine)
    with pytest.raises(NotTheWriterError):
        WriterLock.take(tmp_path / "b.lock", other.engine, patience_s=0.3)
    first.release()
    second = WriterLock.take(tmp_path / "b.lock", other.engine, patience_s=5)
    assert second.still_held()
    second.release()
    db.close()
    other.close()


def _operation(id: str, number: int, at: datetime | None = None) -> OperationRow:
    return OperationRow(
        id=id,
        number=number,
        kind="start",
        owner="a",
        workspace=None,
        state="done",
        actor="a",
        journal={},
        params={},
        data={},
        created_at=at or datetime(2026, 11, 30, tzinfo=UTC),
    )
