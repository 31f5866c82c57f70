"""Fixtures of the kernel-state tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gearshift_testing.moved import Moved, moved_objects


@pytest.fixture(scope="session")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moved]:
    """The table of objects, moved once for all tests."""
    with moved_objects(tmp_path_factory.mktemp("state")) as found:
        yield found
