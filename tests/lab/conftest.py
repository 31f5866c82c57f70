"""Fixtures of the Lab extension's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gearshift_testing.lab_server import FakeControl, Folders, LabServer


@pytest.fixture(scope="session")
def control() -> Iterator[FakeControl]:
    with FakeControl() as found:
        yield found


@pytest.fixture(scope="session")
def lab(control: FakeControl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """One server for all tests that leave it as it was."""
    folders = Folders.make(tmp_path_factory.mktemp("lab") / "mei")
    with LabServer(folders, control.url) as server:
        yield server
