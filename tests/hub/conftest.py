"""People of the hub's tests; each leaves no workspace behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running


@pytest.fixture
def person(running: Running) -> Iterator[Callable[[str], Driver]]:
    """A driver for a person of this name."""
    made: dict[str, Driver] = {}

    def drive(name: str) -> Driver:
        return made.setdefault(name, Driver(running, name))

    yield drive
    for driver in made.values():
        for workspace in driver.get("workspaces"):
            if workspace["owner"] == driver.user and workspace["state"] != "stopped":
                driver.stop(workspace["name"])
