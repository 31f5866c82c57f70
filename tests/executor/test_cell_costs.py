"""What a cell cost is kept in it with no page open: asked of control for the time that the kernel says it took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from gearshift_testing.lab_server import FakeControl, LabServer
from gearshift_testing.shared_page import SharedPage, in_file, until

PART = {"machine": "sim-1", "title": None, "chip": None, "price_per_hour_nano": 10**9, "seconds": 1.5}
COST = {"seconds": 1.5, "amount_nano": 416_667, "currency": "CNY", "on": [{**PART, "amount_nano": 416_667}]}
WAITS = "import pathlib, time\nwhile not pathlib.Path('{go}').exists(): time.sleep(0.02)"


@pytest.fixture
def charged(control: FakeControl) -> Iterator[FakeControl]:
    control.cost = COST
    control.calls.clear()
    yield control
    control.cost = None


def asked(control: FakeControl) -> list[dict[str, list[str]]]:
    found = [urlsplit(call.path) for call in control.calls if call.method == "GET"]
    return [parse_qs(url.query) for url in found if url.path.endswith("/workspaces/mei/vlm/cost")]


async def test_the_cost_of_a_cell_is_kept_with_no_page_open_and_is_gone_when_it_is_run_again(
    page: SharedPage, lab: LabServer, charged: FakeControl
) -> None:
    go, file = lab.work / "go-cost", Path(str(lab.work / page.path))
    cell = await page.run(WAITS.format(go=go))
    timing = await until(lambda: page.cell(cell)["metadata"].get("execution"), "pages know that it runs")
    assert set(timing) == {"iopub.status.busy", "iopub.execute_input"}, "it has not ended"
    await page.leave()
    go.touch()
    kept: dict[str, Any] = await until(lambda: in_file(file, cell).get("metadata", {}).get("gearshift"))
    assert kept == COST
    times = in_file(file, cell)["metadata"]["execution"]
    (span,) = asked(charged)
    assert span == {"from": [timing["iopub.execute_input"]], "to": [times["shell.execute_reply"]]}
    go.unlink()
    async with SharedPage(lab.url, page._headers["Authorization"].split()[1], page.path) as again:
        again.kernel_id = page.kernel_id
        (await again.send(cell)).raise_for_status()
        await until(lambda: "gearshift" not in again.cell(cell)["metadata"], "an old cost is not shown")
        go.touch()
        await again.done(cell)
        await until(lambda: again.cell(cell)["metadata"].get("gearshift") == COST)


async def test_a_cell_that_failed_cost_too_and_one_that_was_not_charged_keeps_nothing(
    page: SharedPage, charged: FakeControl
) -> None:
    failed = await page.run("1 / 0")
    await page.done(failed)
    await until(lambda: page.cell(failed)["metadata"].get("gearshift") == COST)
    charged.cost = None
    free, empty = await page.run("'free'"), await page.run("")
    await page.done(free)
    await until(lambda: len(asked(charged)) == 2, "it was asked for")
    for cell in (free, empty):
        assert "gearshift" not in page.cell(cell)["metadata"]
