"""A part that dies again and again: it is tried again with a pause, and nothing else of the deployment ends for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest
from gearshift_hub.paths import Home
from gearshift_hub.supervisor.keeping import MANY, Kept
from gearshift_hub.supervisor.parts import Part
from gearshift_testing.running import new_home


@pytest.fixture
def home() -> Iterator[Home]:
    made = new_home()
    made.create()
    yield made
    for path in sorted(made.root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    made.root.rmdir()


async def test_a_part_that_dies_again_and_again_does_not_end_the_watch(home: Home) -> None:
    async def ready() -> bool:
        return True

    said: list[str] = []
    kept = Kept(
        Part("control", ["sh", "-c", "echo broken; exit 3"], dict(os.environ), ready), home, said.append
    )
    await kept.start()
    watch = asyncio.create_task(kept.keep())
    async with asyncio.timeout(60):
        while not any("again and again (exit 3). It said: broken" in line for line in said):
            await asyncio.sleep(0.02)
    assert not watch.done()
    assert len([line for line in said if "it is started again" in line]) == MANY - 1
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    await kept.end()
