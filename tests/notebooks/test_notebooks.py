"""Every notebook from its first cell to its last, in a kernel of a real workspace, with a spend token and caps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from gearshift.client import Client
from gearshift.kernel import Kernel
from gearshift_testing.running import Running

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NOT_HERE = "not-run-here"
"""The tag of a cell that needs chips; its notebook says so in words."""
SPEND = [f"custom:gearshift:{word}" for word in ("read", "propose", "spend")]
PERSON, WORKSPACE = "nora", "books"


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return found


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


@pytest.fixture(scope="module")
def workspace(running: Running) -> Iterator[Client]:
    """A workspace that is ready, stopped at the end."""
    client = Client(running.url, running.sign_in(PERSON))
    started = client.do("start", None, name=WORKSPACE, spec={"image": "pytorch", "machine": "cpu-small"})
    assert started.error is None, started.error
    yield client
    client.do("stop", None, workspace=f"{PERSON}/{WORKSPACE}")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(
    path: Path, running: Running, workspace: Client
) -> None:
    token = running.sign_in(PERSON)
    kernel = Kernel(running.server(PERSON, WORKSPACE), token, path.name)
    spender = running.sign_in(PERSON, SPEND)
    kernel.run(f"import os; os.environ['GEARSHIFT_SPEND_TOKEN'] = {spender!r}", silent=True)
    said = ""
    try:
        for cell in cells(path):
            if cell["cell_type"] == "code" and NOT_HERE not in cell["metadata"].get("tags", []):
                said += kernel.run(source(cell), timeout=300).text
    finally:
        kernel.close()
    newest = workspace.jobs()[0]
    assert newest["state"] == "succeeded"
    assert newest["cost_nano"] > 0
    losses = [point["loss"] for point in workspace.job_metrics(newest["id"])]
    assert losses[-1] < losses[0] / 2
    assert "right" in said
    assert not [job for job in workspace.jobs() if job["state"] not in ("succeeded",)]


def test_the_one_cell_that_is_left_out_says_so_above_it() -> None:
    left_out = [
        (path.stem, source(before))
        for path in NOTEBOOKS
        for before, cell in pairwise(cells(path))
        if NOT_HERE in cell["metadata"].get("tags", [])
    ]
    assert [name for name, _ in left_out] == ["08-four-axes"]
    assert "was not run where this notebook was made" in left_out[0][1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_fits_its_number(path: Path) -> None:
    for cell in cells(path):
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert ".splitlines()[-1]" not in source(cell), "torch may warn after what a log is shown for"
    title = source(cells(path)[0]).splitlines()[0]
    assert title.startswith(f"# {path.stem[:2]} · ")
