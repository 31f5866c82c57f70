"""Control's tests run on SQLite and on PostgreSQL, around a fake hub, box and clock."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from gearshift_hub.control.db.base import Database
from gearshift_hub.control.db.migrate import upgrade
from gearshift_hub.control.db.tables import metadata
from gearshift_testing.controls import Control, Person
from gearshift_testing.gangs import DirectTrees, FakeJobs, Jobs
from gearshift_testing.postgres import Postgres
from sqlalchemy import text


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A private server for the session."""
    server = Postgres()
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database at the newest schema, to be copied."""
    path = tmp_path_factory.mktemp("sqlite") / "empty.sqlite"
    db = Database(f"sqlite:///{path}")
    upgrade(db.engine)
    db.close()
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres: Postgres) -> str:
    """One database for all tests of the session, emptied before each."""
    url = postgres.create("control")
    db = Database(url)
    upgrade(db.engine)
    db.close()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        path = tmp_path / "control.sqlite"
        shutil.copyfile(request.getfixturevalue("migrated_sqlite"), path)
        return f"sqlite:///{path}"
    url: str = request.getfixturevalue("migrated_postgres")
    db = Database(url)
    names = ", ".join(f'"{table.name}"' for table in metadata().sorted_tables)
    with db.engine.begin() as connection:
        connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY"))
    db.close()
    return url


@pytest.fixture
async def control(database_url: str) -> AsyncIterator[Control]:
    """A control with nobody in it."""
    made = Control(database_url)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
def trees() -> Iterator[DirectTrees]:
    """Gangs of real processes."""
    made = DirectTrees()
    yield made
    made.close()


@pytest.fixture
async def alice(control: Control) -> Person:
    return await control.add_person("alice")


@pytest.fixture
async def bob(control: Control) -> Person:
    return await control.add_person("bob")


@pytest.fixture
async def root(control: Control) -> Person:
    """An admin."""
    return await control.add_person("root", admin=True)


@pytest.fixture
def backend() -> FakeJobs:
    """Gangs in memory."""
    return FakeJobs()


@pytest.fixture
def jobs(control: Control, backend: FakeJobs) -> Jobs:
    return Jobs(control, backend)
