"""What `%gearshift COMMAND` prints: status, disks, data sets, jobs, logs and costs, in plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gearshift.magics import phrases, words
from gearshift.magics.door import Door
from gearshift.magics.phrases import say
from gearshift.model.chinese import in_chinese
from gearshift.model.errors import fail, from_body
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
            [say("workspace"), f"{door.workspace_id} ({_state(workspace.state)})"],
            [say("machine"), say("machine.price", machine=workspace.spec.machine, price=price)],
        ]
    rows += [
        [say("balance"), format_money(me["balance_nano"], money)],
        [say("today"), format_money(me["today_nano"], money)],
    ]
    running = [job for job in door.jobs() if job["state"] not in ("succeeded", "failed", "cancelled")]
    rows += [[say("job"), f"{job['id']} {job['spec']['name']}: {words.sentence(job)}"] for job in running]
    return words.table(rows)


def mount(door: Door, asked: Any) -> str:
    return "\n".join(_mounted(door, name) for name in asked.names)


def unmount(door: Door, asked: Any) -> str:
    for name in asked.names:
        door.detach_dataset(door.workspace_id, name)
    return "\n".join(say("detached", name=name) for name in asked.names)


def disks(door: Door, _asked: Any) -> str:
    rows = [[say(name) for name in ("disk", "mode", "used", "size", "path")]]
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
    rows = [[say(name) for name in ("data set", "state", "size", "licence", "title")]]
    for found in door.datasets_here(" ".join(asked.words)):
        card = found["card"]
        size = format_bytes(card["size_bytes"])
        rows.append([card["id"], _state(found["state"]), size, card["licence"], phrases.text(card["title"])])
    return words.table(rows)


def jobs(door: Door, _asked: Any) -> str:
    found = door.jobs()
    if not found:
        return say("no jobs")
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
    return "\n".join(lines) if lines else say("no log", rank=asked.rank)


def cost(door: Door, _asked: Any) -> str:
    money, today = door.symbol, door.today()
    rows = [
        [line["subject"], line["machine"], format_money(line["amount_nano"], money)]
        for line in today["lines"]
    ]
    return words.table([*rows, [say("today"), "", format_money(today["total_nano"], money)]])


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
        error = found.get("error") or {}
        raise (
            from_body({"error": error}, 502)
            if error.get("message")
            else fail("data_failed", field="dataset", value=name, cause=f"it is {found['state']}")
        )
    size = format_bytes(card["size_bytes"])
    return say("mounted", name=name, path=found["path"], size=size, licence=card["licence"])


def _state(state: str) -> str:
    return phrases.pick(state, in_chinese(state))
