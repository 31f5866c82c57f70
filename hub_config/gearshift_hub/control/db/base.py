"""The database: one engine, one writer, transactions that never wait for anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Engine, MetaData, create_engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker
from sqlalchemy.types import TypeDecorator

NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Utc(TypeDecorator[datetime]):
    """An instant: aware UTC in Python, whatever the database keeps."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"an instant needs a zone, not {value!r}")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """The tables of control; add one file per noun beside this one."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {  # noqa: RUF012 - read by SQLAlchemy at class creation
        datetime: Utc,
        int: BigInteger,
        dict[str, Any]: JSON,
        list[Any]: JSON,
    }


class Database:
    """Sessions on one engine, used from the event loop's thread only.

    `with db.transaction() as session:` commits on leave and rolls back on any exception. Nothing is awaited
    inside: a second transaction opened while one is open is refused, which is how an await inside shows.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _engine(url)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        self._open = False
        self._after_commit: list[Callable[[], None]] = []

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        if self._open:
            raise RuntimeError("a transaction is open already: pass its session on, and never await inside")
        self._open = True
        try:
            with self._sessions() as session:
                yield session
                self._commit(session)
        finally:
            self._open = False
        for call in self._after_commit:
            call()

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call this after each commit (the event stream wakes its readers so)."""
        self._after_commit.append(call)

    def close(self) -> None:
        self.engine.dispose()

    def _commit(self, session: Session) -> None:
        session.commit()


def _engine(url: str) -> Engine:
    if not url.startswith("sqlite"):
        return create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1), pool_pre_ping=True)
    engine = create_engine(url)
    event.listen(engine, "connect", _sqlite_connect)
    event.listen(engine, "begin", _sqlite_begin)
    return engine


def _sqlite_connect(connection: Any, _record: Any) -> None:
    """`synchronous=NORMAL`: with WAL a kill loses nothing, and a power cut at most the last moments, never the whole."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")


def _sqlite_begin(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
