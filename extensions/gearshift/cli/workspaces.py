"""`gearshift workspaces|machines|start|stop|switch`."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Any

from gearshift.cli.confirming import add_caps, do
from gearshift.cli.connection import connected, owned
from gearshift.cli.printing import ended, price, table
from gearshift.client import Client
from gearshift.model.workspace import Workspace


def add(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    nouns.add_parser("workspaces", help="list your workspaces").set_defaults(run=connected(_list))
    nouns.add_parser("machines", help="list machines with price and inventory").set_defaults(
        run=connected(_machines)
    )
    start = nouns.add_parser("start", help="start a workspace")
    start.add_argument("name", help="1-30 of a-z, 0-9 and -; a new name makes a new workspace")
    start.add_argument("--machine", help="such as cpu-small; without it as last time")
    start.add_argument("--image", help="without it the only one the machine runs")
    start.add_argument(
        "--disk", action="append", default=[], metavar="NAME[:ro]", help="attach a shared disk"
    )
    start.add_argument("--dataset", action="append", default=[], metavar="NAME", help="attach a data set")
    start.add_argument("--fresh", action="store_true", help="without what was kept of its kernels")
    start.add_argument("--state", metavar="STATE", help="with this kept state instead of the newest")
    start.add_argument("--safe", action="store_true", help="without the packages that you installed")
    start.set_defaults(run=connected(_start))
    add_caps(start)
    stop = nouns.add_parser("stop", help="save kernel state and stop a workspace")
    stop.add_argument("name")
    stop.set_defaults(run=connected(_stop))
    add_caps(stop)
    switch = nouns.add_parser("switch", help="go on with the same variables on another machine")
    switch.add_argument("name")
    switch.add_argument("machine")
    switch.add_argument("--image")
    switch.add_argument("--leave-out", action="append", default=[], metavar="VARIABLE")
    switch.add_argument("--snapshot", action="store_true", help="keep what is saved, to go back to later")
    switch.set_defaults(run=connected(_switch))
    add_caps(switch)


def _list(client: Client, given: argparse.Namespace) -> int:
    symbol = client.me()["currency_symbol"]
    rows = [
        [
            f"{one.owner}/{one.name}",
            _state(one),
            one.spec.machine,
            price(one.price_per_hour_nano, symbol) if one.interval_open else "",
            f"{client.url.rstrip('/')}{_path(client, one.url)}" if one.url else "",
        ]
        for one in client.workspaces()
    ]
    table(["WORKSPACE", "STATE", "MACHINE", "PRICE", "ADDRESS"], rows)
    return 0


def _state(workspace: Workspace) -> str:
    """`stopped, idle, 14:02` says why and since when."""
    if not workspace.state.can_start or not workspace.reason:
        return str(workspace.state)
    since = workspace.since.astimezone()
    today = since.date() == datetime.now().astimezone().date()
    moment = since.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
    return f"{workspace.state}, {workspace.reason}, {moment}"


def _machines(client: Client, given: argparse.Namespace) -> int:
    catalog = client.catalog()
    symbol = catalog["currency_symbol"]
    rows = [
        [
            one["id"],
            price(one["price_per_hour_nano"], symbol),
            f"{one['free']} of {one['total']} free",
            "simulated" if one.get("simulated") else "",
        ]
        for one in catalog["machines"]
    ]
    table(["MACHINE", "PRICE", "INVENTORY", ""], rows)
    return 0


def _start(client: Client, given: argparse.Namespace) -> int:
    body: dict[str, Any] = {"name": given.name}
    if given.machine or given.image or given.disk or given.dataset:
        body["spec"] = _spec(client, given)
    if given.fresh or given.state:
        body["state"] = "none" if given.fresh else given.state
    if given.safe:
        body["safe"] = True
    ended(do(client, given, "start", **body))
    workspace = client.workspace(f"{client.me()['name']}/{given.name}")
    print(f"{given.name} is ready on {workspace.spec.machine}: {_address(client, workspace.url)}")
    return 0


def _stop(client: Client, given: argparse.Namespace) -> int:
    ended(do(client, given, "stop", workspace=owned(client, given.name)))
    print(f"{given.name} is stopped. Nothing is charged.")
    return 0


def _switch(client: Client, given: argparse.Namespace) -> int:
    body: dict[str, Any] = {"workspace": owned(client, given.name), "machine": given.machine}
    if given.image:
        body["image"] = given.image
    if given.leave_out:
        body["leave_out"] = given.leave_out
    if given.snapshot:
        body["snapshot"] = True
    ended(do(client, given, "switch", **body))
    print(f"{given.name} is on {given.machine}. Same kernels, same variables.")
    return 0


def _spec(client: Client, given: argparse.Namespace) -> dict[str, Any]:
    machine = given.machine or "cpu-small"
    image = given.image or _only_image(client, machine)
    disks = [_mount(disk) for disk in given.disk]
    return {"image": image, "machine": machine, "disks": disks, "datasets": given.dataset}


def _only_image(client: Client, machine: str) -> str:
    """The image of the machine; the first where it runs several. An unknown machine is control's to refuse."""
    catalog = client.catalog()
    fitting = next((one["images"] for one in catalog["machines"] if one["id"] == machine), None)
    return str((fitting or [catalog["images"][0]["id"]])[0])


def _mount(text: str) -> dict[str, str]:
    name, _, mode = text.partition(":")
    return {"disk": name, "mode": mode or "rw"}


def _address(client: Client, url: str | None) -> str:
    return f"{client.url.rstrip('/')}{_path(client, url)}" if url else client.url


def _path(client: Client, url: str) -> str:
    """The path below the deployment's address: a workspace's url begins with the base URL as well."""
    base = "/" + client.url.split("://", 1)[1].partition("/")[2]
    return "/" + url.removeprefix(base).lstrip("/")
