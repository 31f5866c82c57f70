"""`gearshift state ls|take|restore|delete` and `gearshift delete`: what was kept of kernels, and workspaces that go."""

from __future__ import annotations

import argparse
from typing import Any

from gearshift.cli.confirming import add_caps, agreed, do
from gearshift.cli.connection import connected, owned
from gearshift.cli.printing import ended, table
from gearshift.client import Client
from gearshift.model.units import format_bytes


def add(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    state = nouns.add_parser("state", help="what was kept of your kernels' variables")
    verbs = state.add_subparsers(title="verbs", metavar="VERB", required=True)
    ls = verbs.add_parser("ls", help="list kept states, the newest first")
    ls.add_argument("name", nargs="?", help="of this workspace only")
    ls.set_defaults(run=connected(_list))
    take = verbs.add_parser("take", help="save the variables of a running workspace, which goes on")
    take.add_argument("name")
    take.add_argument("--note", default="", help="a word to find it by")
    take.set_defaults(run=connected(_take))
    for verb, help_text, run in (
        ("restore", "bring a kept state back into the running workspace", _restore),
        ("delete", "delete a kept state for good", _delete_state),
    ):
        made = verbs.add_parser(verb, help=help_text)
        made.add_argument("name", help="of the workspace")
        made.add_argument("state", help="as `gearshift state ls` names it")
        made.set_defaults(run=connected(run))
        add_caps(made)
    delete = nouns.add_parser("delete", help="delete a stopped workspace; your files stay")
    delete.add_argument("name")
    delete.set_defaults(run=connected(_delete_workspace))
    add_caps(delete)


def _list(client: Client, given: argparse.Namespace) -> int:
    kept = client.states_of(owned(client, given.name)) if given.name else client.states()
    rows = [
        [
            one.id,
            one.workspace,
            one.taken_at.astimezone().strftime("%Y-%m-%d %H:%M"),
            one.kind,
            str(one.variables),
            format_bytes(one.bytes),
            one.machine,
            one.note,
        ]
        for one in kept
    ]
    table(["STATE", "WORKSPACE", "TAKEN", "KIND", "VARIABLES", "SIZE", "MACHINE", "NOTE"], rows)
    return 0


def _take(client: Client, given: argparse.Namespace) -> int:
    began = client.take_snapshot(owned(client, given.name), given.note)
    ended(client.wait(began.id))
    print(f"Kept as {began.id}. Nothing was stopped.")
    return 0


def _restore(client: Client, given: argparse.Namespace) -> int:
    done = do(client, given, "restore_state", workspace=owned(client, given.name), state=given.state)
    ended(done)
    report = (done.result or {}).get("restored") or {}
    for line in _not_back(report):
        print(line)
    print(f"{given.state} is back in {given.name}.")
    return 0


def _not_back(report: dict[str, Any]) -> list[str]:
    """Kernels and variables that did not come back, each with why."""
    lines = []
    for kernel in report.get("kernels") or []:
        where = kernel.get("path") or kernel.get("kernel_id")
        if kernel.get("error"):
            lines.append(f"  {where}: {kernel['error'].get('text')}")
        for one in kernel.get("variables") or []:
            if one.get("verdict") != "copy":
                lines.append(f"  {where}: {one.get('name')}: {one.get('why') or one.get('verdict')}")
    return lines


def _delete_state(client: Client, given: argparse.Namespace) -> int:
    agreed(client, given, "delete_state", workspace=owned(client, given.name), state=given.state)
    print(f"{given.state} is deleted.")
    return 0


def _delete_workspace(client: Client, given: argparse.Namespace) -> int:
    ended(do(client, given, "delete_workspace", workspace=owned(client, given.name)))
    print(f"{given.name} is deleted. Your files, disks and the ledger stay.")
    return 0
