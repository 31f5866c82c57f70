"""`gearshift wait for|ls|keep|withdraw`: waiting for a machine that is sold out."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from typing import Any

from gearshift.cli.confirming import add_caps, agreed
from gearshift.cli.connection import connected
from gearshift.cli.printing import price, table
from gearshift.cli.trouble import Refused
from gearshift.client import Client
from gearshift.model.units import from_iso, parse_money, to_iso
from gearshift.model.workspace import WorkspaceState


def add(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verbs = nouns.add_parser("wait", help="wait for a machine that is sold out").add_subparsers(
        dest="verb", required=True
    )
    join = verbs.add_parser("for", help="join the line; you are asked when a machine is held for you")
    join.add_argument("machine")
    join.add_argument("name", help="the workspace: one that runs waits for a switch, another for its start")
    join.add_argument(
        "--itself",
        metavar="PRICE",
        help="begin once by itself, at most this dear per hour; this is agreed to",
    )
    join.add_argument("--hours", type=float, help="only for so long")
    join.set_defaults(run=connected(_join))
    add_caps(join)
    verbs.add_parser("ls", help="what you wait for").set_defaults(run=connected(_list))
    for verb, run, text in (
        ("keep", _keep, "hold the machine longer, where nobody is next"),
        ("withdraw", _withdraw, "out of the line, and back what was agreed to"),
    ):
        one = verbs.add_parser(verb, help=text)
        one.add_argument("wait", help="such as wait-1a2b3c, see `gearshift wait ls`")
        one.set_defaults(run=connected(run))


def _join(client: Client, given: argparse.Namespace) -> int:
    body = _wanted(client, given)
    if given.itself is None:
        return _say(client.join_waitlist(**body))
    try:
        cap = parse_money(given.itself)
    except ValueError as bad:
        raise Refused(f"--itself {given.itself!r} is not an amount such as 0.50.") from bad
    return _say(agreed(client, given, "wait", cap_nano=cap, **body))


def _list(client: Client, _given: argparse.Namespace) -> int:
    symbol = client.me()["currency_symbol"]
    rows = [
        [
            one["id"],
            f"{one['kind']} {one['workspace']}",
            one["spec"]["machine"],
            "asks" if one["cap_nano"] is None else f"by itself, at most {price(one['cap_nano'], symbol)}",
            standing(one),
        ]
        for one in client.waits()
    ]
    table(["WAIT", "WHAT", "MACHINE", "HOW", "STATE"], rows)
    return 0


def _keep(client: Client, given: argparse.Namespace) -> int:
    return _say(client.keep_wait(given.wait))


def _withdraw(client: Client, given: argparse.Namespace) -> int:
    return _say(client.withdraw_wait(given.wait))


def _wanted(client: Client, given: argparse.Namespace) -> dict[str, Any]:
    """A switch of a workspace that runs, a start of one that does not, or of a new one."""
    body: dict[str, Any] = {"what": "start", "machine": given.machine}
    if given.hours is not None:
        body["until"] = to_iso(datetime.now(UTC) + timedelta(hours=given.hours))
    owner = client.me()["name"]
    there = next((one for one in client.workspaces() if (one.owner, one.name) == (owner, given.name)), None)
    if there is None:
        return body | {"name": given.name, "spec": {"image": client.catalog()["images"][0]["id"]}}
    what = "switch" if there.state is WorkspaceState.READY else "start"
    return body | {"what": what, "workspace": there.id}


def _say(one: dict[str, Any]) -> int:
    print(f"{one['id']}: {standing(one)}")
    return 0


def standing(one: dict[str, Any]) -> str:
    """The state in words."""
    if one["state"] == "waiting":
        place = f"place {one['position']} of {one['of']}" if one["position"] else "not in line now"
        return f"{place}, {_about(one['starts_at'])}" if one["starts_at"] else place
    if one["state"] == "held":
        why = f"; {one['why']}" if one["why"] else ""
        return f"held for you until {_time(one['held_until'])}{why}"
    if one["state"] == "failed":
        return f"failed: {one['error']['message']}"
    return str(one["state"])


def _about(iso: str) -> str:
    return f"expected at {_time(iso)}"


def _time(iso: str) -> str:
    return from_iso(iso).astimezone().strftime("%H:%M")
