"""One code cell in a shared document: how it is found, started, ended, and marked."""

from __future__ import annotations

from typing import Any

from pycrdt import Array, Map

from gearshift.lab.documents.plain_data import plain

QUESTION = "gearshift_input"
"""Key of a cell's metadata while its code waits for `input()`."""
COST, TIMING, BEGIN = "gearshift", "execution", "iopub.execute_input"
RUNNING, IDLE = "running", "idle"


def find(cells: Array, cell_id: str, hint: int = 0) -> tuple[int, Map] | None:
    """By its id, since a moved cell is a new one; `hint` is where it was before."""
    count = len(cells)
    for place in ([hint] if hint < count else []) + list(range(count)):
        cell = cells[place]
        if cell.get("id") == cell_id:
            return (place, cell) if cell.get("cell_type") == "code" else None
    return None


def queued(cell: Map) -> None:
    """`[*]` in every page."""
    cell["execution_count"] = None
    cell["execution_state"] = RUNNING


def started(cell: Map) -> None:
    """Its outputs are of a person who may run code here, so pages draw them."""
    queued(cell)
    metadata = cell["metadata"]
    metadata["trusted"] = True
    for key in (TIMING, COST, QUESTION):
        if key in metadata:
            del metadata[key]


def begun(cell: Map, timing: dict[str, str]) -> None:
    """The kernel is at it: pages tell for how long."""
    cell["metadata"][TIMING] = dict(timing)


def keep_cost(cell: Map, cost: dict[str, Any], began: str) -> None:
    """Unless it is run again by now."""
    timing = cell["metadata"].get(TIMING) or {}
    if timing.get(BEGIN) == began:
        cell["metadata"][COST] = plain(cost)


def ended(cell: Map, count: int | None, timing: dict[str, str]) -> None:
    """The count comes last, with the state: a count alone would turn `[*]` into a number while it runs."""
    metadata = cell["metadata"]
    if QUESTION in metadata:
        del metadata[QUESTION]
    if timing:
        metadata[TIMING] = timing
    cell["execution_count"] = None if count is None else float(count)
    cell["execution_state"] = IDLE


def ask(cell: Map, question: dict[str, Any]) -> None:
    cell["metadata"][QUESTION] = plain(question)


def asked_nothing(cell: Map) -> bool:
    """Whether there was a question that is gone now."""
    asked = QUESTION in cell["metadata"]
    if asked:
        del cell["metadata"][QUESTION]
    return asked


def cut_short(cell: Map, name: str, why: str) -> None:
    """It ran and nobody runs it any more: an error output says why."""
    error = {"output_type": "error", "ename": name, "evalue": why, "traceback": [f"{name}: {why}"]}
    cell["outputs"].append(Map(plain(error)))
    ended(cell, None, {})
