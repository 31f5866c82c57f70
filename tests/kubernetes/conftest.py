"""What the tests on a cluster share: the namespace of the running product, and kernels in its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from gearshift.kernel import Kernel
from gearshift_testing.cluster import Namespace, Pods, is_asked_for
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """`make test` leaves this folder out; by hand it needs what `make test-kubernetes` provides."""
    if not is_asked_for():
        raise pytest.UsageError("tests/kubernetes run by `make test-kubernetes`, which provides the cluster")


@pytest.fixture
def space(running: Running) -> Namespace:
    assert isinstance(running, Pods)
    return running.space


@pytest.fixture
def run_in() -> Iterator[Callable[[Driver, str, str], str]]:
    """Run code in somebody's workspace; what it printed."""
    opened: list[Kernel] = []

    def run(driver: Driver, workspace: str, code: str) -> str:
        address = driver.product.server(driver.user, workspace)
        opened.append(Kernel(address, driver.product.sign_in(driver.user), "work.ipynb"))
        return opened[-1].run(code, timeout=60).text.strip()

    yield run
    for kernel in opened:
        kernel.close()
