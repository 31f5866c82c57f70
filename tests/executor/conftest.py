"""Fixtures of the executor's tests: one server with shared documents, pages without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import pytest
from gearshift_testing.lab_server import TOKEN, FakeControl, Folders, LabServer
from gearshift_testing.shared_page import SharedPage, notebook

Open = Callable[..., Awaitable[SharedPage]]


@pytest.fixture(scope="session")
def control() -> Iterator[FakeControl]:
    with FakeControl() as found:
        yield found


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return Folders.make(tmp_path_factory.mktemp("executor") / "mei")


@pytest.fixture(scope="session")
def lab(control: FakeControl, folders: Folders) -> Iterator[LabServer]:
    """One server for all tests that leave it as it was."""
    with LabServer(folders, control.url, documents=True) as server:
        yield server


_numbers = count()


@pytest.fixture
async def open_page(lab: LabServer, folders: Folders) -> AsyncIterator[Open]:
    """Opens pages on a notebook of this test; its kernel ends with the test."""
    name = f"n{next(_numbers)}.ipynb"
    notebook(folders.work, name)
    async with AsyncExitStack() as stack:
        pages: list[SharedPage] = []

        async def open_one() -> SharedPage:
            page = await stack.enter_async_context(SharedPage(lab.url, TOKEN, name))
            await page.kernel()
            pages.append(page)
            return page

        yield open_one
        if pages:
            lab.http.delete(f"api/kernels/{pages[0].kernel_id}")


@pytest.fixture
async def page(open_page: Open) -> SharedPage:
    return await open_page()


@pytest.fixture
def file(page: SharedPage, folders: Folders) -> Path:
    return folders.work / page.path
