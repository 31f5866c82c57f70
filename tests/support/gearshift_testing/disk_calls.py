"""The calls that tests of disks and data sets make, and what they look at afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from gearshift_hub.control.events import Audience

from gearshift_testing.controls import Control, Person


async def send(person: Person, method: str, path: str, body: Any = None) -> httpx.Response:
    """Any method, as this person."""
    async with person.control.outside(person.headers) as client:
        return await client.request(method, f"/api/v1{path}", json=body)


async def make_disk(person: Person, name: str = "team", **more: Any) -> dict[str, Any]:
    answer = await send(person, "POST", "/disks", {"name": name, **more})
    assert answer.status_code == 201, answer.text
    disk: dict[str, Any] = answer.json()
    return disk


async def share_disk(owner: Person, disk: str, user: str, mode: str = "ro") -> dict[str, Any]:
    answer = await send(owner, "PUT", f"/disks/{disk}/members/{user}", {"mode": mode})
    assert answer.status_code == 200, answer.text
    shared: dict[str, Any] = answer.json()
    return shared


def refusal(answer: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and field of an error."""
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["field"]


def home_of(control: Control, name: str) -> Path:
    """The person's home, as the box would have made it."""
    home = control.ctx.home.homes / name
    home.mkdir(parents=True, exist_ok=True)
    return home


async def attach_disk(
    person: Person, disk: str, mode: str | None = None, name: str = "work"
) -> httpx.Response:
    return await send(person, "POST", f"/workspaces/{person.name}/{name}/disks", {"disk": disk, "mode": mode})


def told(control: Control) -> list[tuple[str, dict[str, Any]]]:
    """Every event so far."""
    return [(event.kind, event.data) for event in control.ctx.events.after(0, Audience(None))]
