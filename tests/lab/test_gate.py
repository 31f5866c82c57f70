"""Requests for kernels and sessions wait exactly as long as a restore runs."""

from __future__ import annotations

import asyncio

from gearshift.lab.gate import Gate, held_routes


async def test_it_is_open_until_it_is_held_and_again_when_all_have_let_go() -> None:
    gate = Gate()
    await asyncio.wait_for(gate.passed(), 1)
    gate.hold()
    with gate.closed():
        waiting = [asyncio.create_task(gate.passed()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    gate.release()
    await asyncio.wait_for(asyncio.gather(*waiting), 1)


def test_all_routes_of_kernels_and_sessions_are_held() -> None:
    routes = dict(held_routes("/user/mei/vlm/"))
    assert len(routes) == 6
    assert all(pattern.startswith("/user/mei/vlm/api/") for pattern in routes)
    assert any(pattern.endswith("/channels") for pattern in routes)
