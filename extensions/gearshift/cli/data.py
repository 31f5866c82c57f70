"""`gearshift disks` and `gearshift datasets`."""

from __future__ import annotations

import argparse

from gearshift.cli.connection import connected
from gearshift.cli.printing import table
from gearshift.client import Client
from gearshift.model.units import format_bytes, parse_bytes


def add(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    disks = nouns.add_parser("disks", help="list, make and share disks")
    disks.set_defaults(run=connected(_disks))
    verbs = disks.add_subparsers(metavar="VERB")
    make = verbs.add_parser("make", help="make a shared disk")
    make.add_argument("name")
    make.add_argument("--quota", help="such as 10 GB")
    make.set_defaults(run=connected(_make))
    share = verbs.add_parser("share", help="let somebody read, or read and write")
    share.add_argument("disk")
    share.add_argument("user")
    share.add_argument("mode", choices=["ro", "rw"])
    share.set_defaults(run=connected(_share))
    datasets = nouns.add_parser("datasets", help="search public data sets and models; attach one")
    datasets.add_argument("query", nargs="?", default="")
    datasets.add_argument("--attach-to", metavar="WORKSPACE", help="attach the data set of exactly this name")
    datasets.set_defaults(run=connected(_datasets))


def _disks(client: Client, given: argparse.Namespace) -> int:
    rows = [
        [
            disk.name,
            disk.owner,
            str(disk.mode_for_me),
            f"{'–' if disk.used_bytes is None else format_bytes(disk.used_bytes)} of {format_bytes(disk.quota_bytes)}",
            ", ".join(f"{member.user} {member.mode}" for member in disk.members),
        ]
        for disk in client.disks()
    ]
    table(["DISK", "OWNER", "YOU MAY", "USED", "MEMBERS"], rows)
    return 0


def _make(client: Client, given: argparse.Namespace) -> int:
    disk = client.create_disk(given.name, parse_bytes(given.quota) if given.quota else None)
    print(f"{disk.name} is made, {format_bytes(disk.quota_bytes)}. It is attached with the next start.")
    return 0


def _share(client: Client, given: argparse.Namespace) -> int:
    disk = next((one for one in client.disks() if given.disk in (one.name, one.id)), None)
    client.share_disk(disk.id if disk else given.disk, given.user, given.mode)
    print(f"{given.user} may {'read' if given.mode == 'ro' else 'read and write'} {given.disk}.")
    return 0


def _datasets(client: Client, given: argparse.Namespace) -> int:
    if given.attach_to:
        workspace = given.attach_to if "/" in given.attach_to else f"{client.me()['name']}/{given.attach_to}"
        attached = client.attach_dataset(workspace, given.query)
        print(f"{given.query}: {attached.get('state')}, {attached.get('path')}")
        return 0
    found = client.datasets(given.query)
    listed = found.get("datasets", []) if isinstance(found, dict) else found
    cards = [one.get("card", one) for one in listed]
    rows = [
        [card["id"], card["title"]["en"], card["licence"], format_bytes(card["size_bytes"])] for card in cards
    ]
    table(["DATA SET", "TITLE", "LICENCE", "SIZE"], rows)
    return 0
