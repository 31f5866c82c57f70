"""What `%gearshift COMMAND` prints: status, disks, data sets, jobs, logs and costs, in plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gearshift.magics import words
from gearshift.magics.door import Door
from gearshift.model.errors import fail
from gearshift.model.units import format_bytes, format_money

READY_SECONDS = 60.0


def status(door: Door, _asked: Any) -> str:
    me = door.me()
    money = me["currency_symbol"]
    rows = []
    if door.place.workspace:
        workspace = door.workspace(door.workspace_id)
        price = format_money(workspace.price_per_hour_nano or 0, money)
        rows = [
            ["workspace", f"{door.workspace_id} ({workspace.state})"],
            ["machine", f"{workspace.spec.machine}, {price}/h"],
        ]
    rows += [
        ["balance", format_money(me["balance_nano"], money)],
        ["today", format_money(me["today_nano"], money)],
    ]
    running = [job for job in door.jobs() if job["state"] not in ("succeeded", "failed", "cancelled")]
    rows += [["job", f"{job['id']} {job['spec']['name']}: {words.sentence(job)}"] for job in running]
    return words.table(rows)


def mount(door: Door, asked: Any) -> str:
    return "\n".join(_mounted(door, name) for name in asked.names)


def unmount(door: Door, asked: Any) -> str:
    for name in asked.names:
        door.detach_dataset(door.workspace_id, name)
    return "\n".join(f"{name}: detached" for name in asked.names)


def disks(door: Door, _asked: Any) -> str:
    rows = [["disk", "mode", "used", "size", "path"]]
    rows += [
        [
            disk.name,
            str(disk.mode_for_me),
            "?" if disk.used_bytes is None else format_bytes(disk.used_bytes),
            format_bytes(disk.quota_bytes),
            str(disk.path_hint),
        ]
        for disk in door.disks()
    ]
    return words.table(rows)


def datasets(door: Door, asked: Any) -> str:
    rows = [["data set", "state", "size", "licence", "title"]]
    for found in door.datasets_here(" ".join(asked.words)):
        card = found["card"]
        size = format_bytes(card["size_bytes"])
        rows.append([card["id"], found["state"], size, card["licence"], card["title"]["en"]])
    return words.table(rows)


def jobs(door: Door, _asked: Any) -> str:
    found = door.jobs()
    if not found:
        return "No jobs yet. Start one from a cell: %%gearshift --nodes 2"
    money = door.symbol
    return words.table(
        [
            [job["id"], job["spec"]["name"], words.sentence(job), format_money(job["cost_nano"], money)]
            for job in found
        ]
    )


def logs(door: Door, asked: Any) -> str:
    """The last lines of a rank."""
    lines = (
        door.log_end(asked.job, asked.rank, 60_000).splitlines()[-asked.lines :] if asked.lines > 0 else []
    )
    return "\n".join(lines) if lines else f"rank {asked.rank} has printed nothing"


def cost(door: Door, _asked: Any) -> str:
    money, today = door.symbol, door.today()
    rows = [
        [line["subject"], line["machine"], format_money(line["amount_nano"], money)]
        for line in today["lines"]
    ]
    return words.table([*rows, ["today", "", format_money(today["total_nano"], money)]])


REPORTS: dict[str, Callable[[Door, Any], str]] = {
    "status": status,
    "mount": mount,
    "unmount": unmount,
    "disks": disks,
    "datasets": datasets,
    "jobs": jobs,
    "logs": logs,
    "cost": cost,
}


def _mounted(door: Door, name: str) -> str:
    found = door.attach_dataset(door.workspace_id, name)
    deadline = time.monotonic() + READY_SECONDS
    while found["state"] == "preparing" and time.monotonic() < deadline:
        time.sleep(0.5)
        found = door.dataset(name)
    card = found["card"]
    if found["state"] != "attached":
        cause = (found.get("error") or {}).get("message") or f"it is {found['state']}"
        raise fail("data_failed", field="dataset", value=name, cause=cause)
    size = format_bytes(card["size_bytes"])
    return f"{name}: {found['path']}  read-only, {size}, licence {card['licence']}, no traffic fee"
