"""One running box for the tests of this folder that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gearshift_testing.box import TestBox, running_box


@pytest.fixture(scope="session")
def box() -> Iterator[TestBox]:
    with running_box() as running:
        yield running
