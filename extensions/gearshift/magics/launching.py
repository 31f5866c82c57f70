"""From a cell to a job: bundle first, then the plan, then the press or the spend token."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gearshift.client import Caps
from gearshift.magics.arguments import budgets
from gearshift.magics.door import Door
from gearshift.model.errors import fail
from gearshift.train.cells import Cell, build, read_history


def number_of(inputs: Sequence[str], body: str) -> int:
    """The launched cell's own number: it is the last input, unless it runs without history."""
    is_last = bool(inputs) and inputs[-1].rstrip().endswith(body.rstrip())
    return len(inputs) - 1 if is_last else len(inputs)


def cell_of(number: int, line: str, body: str) -> Cell:
    """The launched cell as it stands in the notebook: the magic is its first line."""
    return Cell(number, f"%%gearshift {line}\n{body}", 1)


def send_bundle(
    door: Door, cell: Cell, inputs: Sequence[str], namespace: Mapping[str, Any], send: Sequence[str]
) -> str:
    """Build what the cell needs and leave it with control; nothing is reserved before this has succeeded."""
    history = [one for one in read_history(inputs) if one.number != cell.number]
    bundle = build(cell, history, namespace, Path.cwd(), send)
    return door.send_bundle(bundle.pack())


def spec(door: Door, asked: Any, code: str, number: int) -> dict[str, Any]:
    """The job as it is sent; the machine and image of this workspace unless others are named."""
    place = door.place
    machine = asked.machine or place.machine
    if machine is None:
        raise fail("bad_request", field="--machine", value=None, problem="name a machine")
    image = asked.image or place.image or _only_image(door, machine)
    return {
        "name": asked.name or f"cell-{number}",
        "machine": machine,
        "image": image,
        "nodes": asked.nodes,
        "procs": asked.procs,
        "launch": asked.launch,
        "code": code,
        "env": {"GS_CWD": os.getcwd(), **dict(asked.env)},
        **budgets(asked),
        "grace_seconds": asked.grace,
        "group_timeout_seconds": asked.group_timeout,
        "deadline_seconds": asked.deadline,
        "expected_seconds": asked.expect,
        "priority": asked.priority,
        "budget_nano": asked.max_cost,
        "workspace": place.workspace,
        "attached": asked.attach,
    }


def confirm_with_token(door: Door, plan: Mapping[str, Any], asked: Any) -> dict[str, Any]:
    """Headless: the caps are the confirmation."""
    return door.spend(plan, Caps(asked.max_price, asked.max_cost))


def can_spend(door: Door, asked: Any) -> bool:
    return bool(door.place.spend_token) and asked.max_price is not None and asked.max_cost is not None


def _only_image(door: Door, machine: str) -> str:
    catalog = door.catalog()
    found = [one["images"] for one in catalog["machines"] if one["id"] == machine]
    if found and found[0]:
        return str(found[0][0])
    return str(catalog["images"][0]["id"])
