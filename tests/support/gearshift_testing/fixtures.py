"""Fixtures that many folders of tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gearshift_testing import running as running_module
from gearshift_testing.running import Running


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """One real product for the whole session: sign in as people of your own, leave nothing running."""
    product = running_module.start()
    try:
        yield product
    finally:
        code = product.stop()
        product.remove()
        product.output.unlink(missing_ok=True)
    assert code == 0
