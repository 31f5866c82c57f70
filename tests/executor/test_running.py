"""Cells go on with no page open, in their order, and end as they must (facts-lab 1, rows a, d, e, f, g, h, i)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx
import pytest
from gearshift_testing.lab_server import LabServer
from gearshift_testing.shared_page import SharedPage, in_file, saved, text_in_file, until

from .conftest import Open

LINES = "import time\nfor n in range({count}):\n    print('line', n, flush=True); time.sleep({pause})"


async def test_the_page_is_closed_and_every_line_of_the_cell_and_of_the_queued_ones_is_there(
    open_page: Open, lab: LabServer
) -> None:
    page = await open_page()
    async with SharedPage(lab.url, page._headers["Authorization"].split()[1], page.path) as leaving:
        await leaving.kernel()
        first = leaving.add(LINES.format(count=100, pause=0.04))
        second, third = leaving.add("print('second', n)"), leaving.add("print('third')")
        (await leaving.send(first, second, third)).raise_for_status()
        await until(lambda: "line 5" in leaving.text(first))
    await page.done(third)
    assert page.text(first) == "".join(f"line {n}\n" for n in range(100))
    assert page.text(second) == "second 99\n"
    assert page.text(third) == "third\n"
    assert [page.cell(cell)["execution_count"] for cell in (first, second, third)] == [1, 2, 3]


async def test_with_no_page_at_all_a_document_stays_as_long_as_its_cell_runs(
    lab: LabServer, open_page: Open, tmp_path: Path
) -> None:
    page = await open_page()
    file = Path(str(lab.work / page.path))
    cell = await page.run(LINES.format(count=60, pause=0.1))  # twice as long as documents are kept here
    await until(lambda: "line 1" in page.text(cell))
    await page.leave()
    await until(lambda: text_in_file(file, cell).count("\n") == 60)
    await until(lambda: in_file(file, cell)["execution_count"] == 1)
    async with SharedPage(lab.url, page._headers["Authorization"].split()[1], page.path) as other:
        assert other.text(cell).count("\n") == 60
        assert other.ycell(cell)["execution_state"] == "idle"


async def test_two_pages_and_one_that_comes_later_see_the_same(open_page: Open) -> None:
    one, two = await open_page(), await open_page()
    cell = await one.run(LINES.format(count=30, pause=0.03))
    await until(lambda: "line 3" in two.text(cell) if _has(two, cell) else False)
    three = await open_page()
    found = [await page.done(cell) for page in (one, two, three)]
    assert found[0] == found[1] == found[2]


async def test_after_an_error_what_waits_is_not_run(page: SharedPage) -> None:
    bad, good = page.add("print('before'); 1 / 0"), page.add("print('never')")
    (await page.send(bad, good)).raise_for_status()
    found = await page.done(bad)
    assert [one["output_type"] for one in found["outputs"]] == ["stream", "error"]
    assert found["outputs"][1]["ename"] == "ZeroDivisionError"
    await until(lambda: page.ycell(good)["execution_state"] == "idle")
    assert page.cell(good)["outputs"] == []
    later = await page.run("print('runs')")
    await page.done(later)
    assert page.cell(good)["outputs"] == []


async def test_an_interrupt_from_anywhere_ends_the_cell_and_drops_the_queue(
    page: SharedPage, lab: LabServer
) -> None:
    long, queued = page.add("import time\nprint('on')\ntime.sleep(600)"), page.add("print('never')")
    (await page.send(long, queued)).raise_for_status()
    await until(lambda: page.text(long) == "on\n")
    lab.http.post(f"api/kernels/{page.kernel_id}/interrupt").raise_for_status()
    assert (await page.done(long))["outputs"][-1]["ename"] == "KeyboardInterrupt"
    await until(lambda: page.ycell(queued)["execution_state"] == "idle")
    assert page.cell(queued)["outputs"] == []


@pytest.mark.parametrize(("how", "name"), [("restart", "KernelRestarted"), ("kill", "Kernel")])
async def test_a_kernel_that_is_gone_ends_its_cell_with_an_error(
    page: SharedPage, lab: LabServer, how: str, name: str
) -> None:
    long, queued = (
        page.add("import os, time\nprint(os.getpid())\ntime.sleep(600)"),
        page.add("print('never')"),
    )
    (await page.send(long, queued)).raise_for_status()
    pid = int(await until(lambda: page.text(long).strip()))
    if how == "kill":
        os.kill(pid, signal.SIGKILL)
    else:
        lab.http.post(f"api/kernels/{page.kernel_id}/restart").raise_for_status()
    assert (await page.done(long))["outputs"][-1]["ename"].startswith(name)
    await until(lambda: page.ycell(queued)["execution_state"] == "idle")
    assert page.cell(queued)["outputs"] == []
    again = await page.run("print('a new kernel')")
    await page.done(again)
    assert page.text(again) == "a new kernel\n"


async def test_input_is_asked_in_the_document_and_answered_by_any_page(open_page: Open) -> None:
    page = await open_page()
    cell = await page.run("name = input('name? '); print('hello', name)")
    await until(lambda: _question(page, cell))
    later = await open_page()
    question = _question(later, cell)
    assert question["prompt"] == "name? "
    assert not question["password"]
    answer = {"kernel_id": later.kernel_id, "question": question["id"], "value": "世界"}
    wrong = await later.post("gearshift/documents/answer", {**answer, "question": "other"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (404, "not_found")
    assert (await later.post("gearshift/documents/answer", answer)).status_code == 204
    await page.done(cell)
    assert page.text(cell) == "name? 世界\nhello 世界\n"
    assert "gearshift_input" not in page.cell(cell)["metadata"]
    assert (await later.post("gearshift/documents/answer", answer)).status_code == 404


async def test_a_password_that_is_typed_is_not_shown(page: SharedPage) -> None:
    cell = await page.run("import getpass; print(len(getpass.getpass('secret: ')))")
    question = await until(lambda: _question(page, cell))
    assert question["password"]
    body = {"kernel_id": page.kernel_id, "question": question["id"], "value": "hunter2"}
    (await page.post("gearshift/documents/answer", body)).raise_for_status()
    await page.done(cell)
    assert page.text(cell) == "secret: ········\n7\n"


async def test_widgets_keep_their_last_state_in_the_file_also_when_the_kernel_is_killed(
    page: SharedPage, file: Path
) -> None:
    cell = await page.run(
        "import os, time, ipywidgets\nfrom tqdm.auto import tqdm\nslider = ipywidgets.IntSlider(1)\ndisplay(slider)\n"
        "for n in tqdm(range(20)): time.sleep(0.01)\nslider.value = 39"
    )
    found = await page.done(cell)
    assert "application/vnd.jupyter.widget-view+json" in found["outputs"][0]["data"]
    await until(lambda: _widgets(file).get("IntSliderModel", {}).get("value") == 39)
    bar = await until(lambda: _widgets(file).get("FloatProgressModel"))
    assert (bar["value"], bar["max"]) == (20, 20)
    busy = await page.run("slider.value = 77\nprint('set'); time.sleep(3); os.kill(os.getpid(), 9)")
    await page.done(busy)
    await until(lambda: _widgets(file).get("IntSliderModel", {}).get("value") == 77)


async def test_a_person_clears_the_outputs_and_moves_and_deletes_cells_while_one_runs(
    page: SharedPage,
) -> None:
    cell = await page.run(LINES.format(count=40, pause=0.05))
    await until(lambda: "line 3" in page.text(cell))
    with page.doc.transaction():
        page.ycell(cell)["outputs"].clear()
    assert "line 0\n" not in page.text(cell)
    await until(lambda: page.text(cell))
    moved = page.notebook.get()["cells"][-1]
    with page.doc.transaction():
        del page.notebook.ycells[len(page.notebook.ycells) - 1]
        page.notebook.ycells.insert(0, page.notebook.create_ycell(moved))
    await page.done(cell)
    assert page.text(cell).endswith("line 38\nline 39\n")
    assert "line 0\n" not in page.text(cell)
    gone = await page.run(LINES.format(count=10, pause=0.05))
    await until(lambda: page.text(gone))
    with page.doc.transaction():
        del page.notebook.ycells[len(page.notebook.ycells) - 1]
    after = await page.run("print(n)")
    await page.done(after)
    assert page.text(after) == "9\n"


async def test_a_notebook_that_is_renamed_while_it_runs_is_saved_under_its_new_name(
    page: SharedPage, lab: LabServer, file: Path
) -> None:
    cell = await page.run(LINES.format(count=40, pause=0.05))
    await until(lambda: "line 3" in page.text(cell))
    lab.http.patch(f"api/contents/{page.path}", json={"path": f"new-{page.path}"}).raise_for_status()
    await page.done(cell)
    new = file.with_name(f"new-{page.path}")
    await until(lambda: text_in_file(new, cell).endswith("line 39\n"))
    assert not file.exists()


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"kernel_id": "none"}, 404, "kernel_id"),
        ({"document_id": "json:notebook:none"}, 404, "document_id"),
        ({"document_id": "text:file:../x"}, 404, "document_id"),
        ({"document_id": "x"}, 404, "document_id"),
        ({"cells": []}, 422, "cells"),
        ({"cells": [{"id": 5, "code": ""}]}, 422, "cells"),
        ({"cells": "x"}, 422, "cells"),
        ({"kernel_id": 5}, 422, "kernel_id"),
    ],
)
async def test_a_bad_order_is_refused_whole(
    page: SharedPage, change: dict[str, object], status: int, field: str
) -> None:
    body = {"kernel_id": page.kernel_id, "document_id": page.document, "cells": [{"id": "a", "code": "1"}]}
    answer = await page.post("gearshift/documents/execute", {**body, **change})
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, field)


@pytest.mark.parametrize("route", ["execute", "answer", "stay"])
async def test_nobody_else_has_cells_run(lab: LabServer, route: str) -> None:
    url = f"{lab.url}gearshift/documents/{route}"
    assert httpx.post(url, json={}).status_code == 403
    with lab.browser() as browser:
        del browser.headers["X-XSRFToken"]
        assert browser.post(f"gearshift/documents/{route}", json={}).status_code == 403


async def test_no_other_site_and_no_stranger_joins_a_room(lab: LabServer, page: SharedPage) -> None:
    headers = {
        **page._headers, "Origin": "https://evil.example", "Connection": "Upgrade", "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    del headers["Authorization"]
    with lab.browser() as browser:
        answer = browser.get(f"api/collaboration/room/{page.document}", headers=headers)
    assert answer.status_code == 403
    del headers["Origin"]
    stranger = httpx.get(f"{lab.url}api/collaboration/room/{page.document}", headers=headers)
    assert stranger.status_code == 403


def _has(page: SharedPage, cell: str) -> bool:
    return any(found["id"] == cell for found in page.notebook.ycells)


def _question(page: SharedPage, cell: str) -> dict:
    return page.cell(cell)["metadata"].get("gearshift_input") if _has(page, cell) else None


def _widgets(file: Path) -> dict[str, dict]:
    metadata = saved(file).get("metadata", {}).get("widgets", {})
    states = metadata.get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    return {one["model_name"]: one["state"] for one in states.values()}
