"""Kernels of the workspaces of this folder; which backend they are on, GEARSHIFT_TEST_BACKEND says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from gearshift.kernel import Kernel
from gearshift_testing.driving import Driver
from gearshift_testing.running import Running


@pytest.fixture
def kernel(running: Running) -> Iterator[Callable[..., Kernel]]:
    """A kernel in somebody's workspace, of the notebook at this path."""
    opened: list[Kernel] = []

    def open_kernel(driver: Driver, name: str, path: str = "work.ipynb") -> Kernel:
        opened.append(Kernel(running.server(driver.user, name), running.sign_in(driver.user), path))
        return opened[-1]

    yield open_kernel
    for one in opened:
        one.close()
