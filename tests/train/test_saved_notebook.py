"""What a saved notebook shows of a job where no Gearshift is: HTML and plain text, written when the job had ended."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from gearshift.client import Client
from gearshift.kernel import Kernel
from gearshift.magics.showing import JOB_MIME
from gearshift_testing.running import Running
from nbconvert import HTMLExporter
from nbformat import v4

SPEND = [f"custom:gearshift:{word}" for word in ("read", "propose", "spend")]
LINE = "%%gearshift --nodes 2 --machine sim-1 --max-price 5 --max-cost 1"


@pytest.fixture(scope="module")
def kernel(running: Running) -> Iterator[Kernel]:
    with Client(running.url, running.sign_in("sava")) as client:
        started = client.do("start", None, name="work", spec={"image": "pytorch", "machine": "cpu-small"})
        assert started.error is None, started.error
        kernel = Kernel(running.server("sava", "work"), running.sign_in("sava"), "saved.ipynb")
        token = running.sign_in("sava", SPEND)
        kernel.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {token!r}\n%load_ext gearshift")
        yield kernel
        kernel.close()
        client.do("stop", None, workspace="sava/work")


def output_at_the_end(kernel: Kernel, cell: str) -> dict[str, Any]:
    """What stands under the cell once its job has ended: the last update of its display, as Lab saves it."""
    said = kernel.run(cell)
    shown = next(one for one in said.data if JOB_MIME in one)
    deadline = time.monotonic() + 60
    while not any(word in shown["text/plain"] for word in ("Finished", "failed first")):
        message = kernel._receive(deadline)
        if message["header"]["msg_type"] == "update_display_data":
            shown = message["content"]["data"]
    return shown


def page(cell: str, shown: dict[str, Any]) -> str:
    """The fallback as nbconvert puts it on a page."""
    saved = v4.new_notebook(
        cells=[v4.new_code_cell(cell, execution_count=1, outputs=[v4.new_output("display_data", shown)])]
    )
    whole, _ = HTMLExporter().from_notebook_node(saved)
    found = re.search(r"<div class=.gs-job-fallback.>.*?</div>", whole, re.DOTALL)
    assert found is not None, "the page shows the HTML beside the widget"
    return found[0]


def test_a_finished_job_is_read_without_gearshift(kernel: Kernel) -> None:
    cell = (
        f"{LINE} --name counted\nfrom gearshift import train\nfor step in range(1, 4):\n"
        "    train.log(step=step, loss=1 / step)\nprint('<i>the last word</i>')\n"
    )
    shown = output_at_the_end(kernel, cell)
    for part in (
        "counted",
        shown[JOB_MIME]["job"],
        "Finished",
        "2 × 1 on sim-1",
        "3 (loss 0.333333)",
        "the last word",
    ):
        assert part in shown["text/plain"]
        assert part in page(cell, shown)
    assert "&lt;i&gt;the last word&lt;/i&gt;" in page(cell, shown)
    assert not re.search(r"<(script|style|img|iframe)|on\w+=", shown["text/html"])


def test_a_failed_job_still_says_who_failed_first_and_where(kernel: Kernel) -> None:
    cell = f"{LINE} --name fails\nimport os\nif os.environ['RANK'] == '1':\n    raise ValueError('boom')\n"
    shown = output_at_the_end(kernel, cell)
    for part in ("Rank 1 on node 1 failed first, exit code 1: ValueError: boom", "line 4"):
        assert part in shown["text/plain"]
        assert part in page(cell, shown)
