"""Fixtures that many folders of tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gearshift_testing import cluster
from gearshift_testing import running as running_module
from gearshift_testing.driving import Driver
from gearshift_testing.real_gangs import gang
from gearshift_testing.running import Running

__all__ = ["gang", "person", "running"]


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """One real product for the whole session: sign in as people of your own, leave nothing running.

    Its workspaces are processes of this box, or pods where `make test-kubernetes` asks for a cluster.
    """
    if cluster.is_asked_for():
        with cluster.product() as pods:
            yield pods
        return
    product = running_module.start()
    try:
        yield product
    finally:
        code = product.stop()
        product.remove()
        product.output.unlink(missing_ok=True)
    assert code == 0


@pytest.fixture
def person(running: Running) -> Iterator[Callable[[str], Driver]]:
    """A driver for a person of this name, who leaves no workspace running."""
    made: dict[str, Driver] = {}

    def drive(name: str) -> Driver:
        return made.setdefault(name, Driver(running, name))

    yield drive
    for driver in made.values():
        for workspace in driver.get("workspaces"):
            if workspace["owner"] == driver.user and workspace["state"] != "stopped":
                driver.stop(workspace["name"])
