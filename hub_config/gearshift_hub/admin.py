"""People and the ledger from the terminal of the box: `gearshift user ...` and `gearshift ledger verify`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gearshift.model.errors import GearshiftError

from gearshift_hub.hub.control import ControlLink
from gearshift_hub.paths import Home

REFUSED = 2
BROKEN = 1


def main(argv: list[str] | None = None) -> int:
    """0 when done, 1 for a ledger that does not add up, 2 with a sentence when refused."""
    given = _parser().parse_args(argv)
    home = Home(given.home.expanduser().absolute()) if given.home else Home.default()
    run: Callable[[ControlLink, Home, argparse.Namespace], Awaitable[int]] = given.run
    try:
        return asyncio.run(run(ControlLink(home), home, given))  # type: ignore[arg-type]
    except GearshiftError as error:
        print(f"gearshift: {_sentence(error, home)}", file=sys.stderr)
        return REFUSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gearshift", description=__doc__)
    parser.add_argument("--home", type=Path, help="folder of the deployment (default: GEARSHIFT_HOME)")
    nouns = parser.add_subparsers(dest="noun", required=True)
    user = nouns.add_parser("user", help="people of this deployment").add_subparsers(
        dest="verb", required=True
    )
    add = _verb(user, "add", _add, "make an account; prints its one-time code")
    add.add_argument("--admin", action="store_true", help="may see and manage everything")
    _verb(user, "reset", _reset, "a new one-time code; the password is forgotten")
    _verb(user, "disable", _disable, "sign out, stop everything, keep everything")
    _verb(user, "enable", _enable, "let in again")
    _verb(user, "delete", _delete, "stop everything, move disks to the bin; the ledger stays")
    credit = _verb(user, "credit", _credit, "add to the balance")
    credit.add_argument("amount", help="such as 100 or 12.50")
    user.add_parser("ls", help="list the accounts").set_defaults(run=_ls)
    ledger = nouns.add_parser("ledger", help="the bill").add_subparsers(dest="verb", required=True)
    ledger.add_parser("verify", help="recompute every entry").set_defaults(run=_verify)
    return parser


def _verb(nouns: Any, name: str, run: Any, help_text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = nouns.add_parser(name, help=help_text)
    made.add_argument("name", help="of the person")
    made.set_defaults(run=run)
    return made


async def _add(control: ControlLink, home: Home, given: argparse.Namespace) -> int:
    _tell_code(home, given.name, await control.add_account(given.name, given.admin))
    return 0


async def _reset(control: ControlLink, home: Home, given: argparse.Namespace) -> int:
    answer = await control.account_action(given.name, "reset")
    _tell_code(home, given.name, answer["code"])
    return 0


async def _disable(control: ControlLink, home: Home, given: argparse.Namespace) -> int:
    await control.account_action(given.name, "disable")
    print(f"{given.name} is disabled.")
    return 0


async def _enable(control: ControlLink, home: Home, given: argparse.Namespace) -> int:
    await control.account_action(given.name, "enable")
    print(f"{given.name} may sign in again.")
    return 0


async def _delete(control: ControlLink, home: Home, given: argparse.Namespace) -> int:
    await control.delete_account(given.name)
    print(f"{given.name} is deleted. Their disks are in the bin, their ledger entries stay.")
    return 0


async def _credit(control: ControlLink, home: Home, given: argparse.Namespace) -> int:
    await control.account_action(given.name, "credit", {"amount": given.amount})
    print(f"{given.amount} added to the balance of {given.name}.")
    return 0


async def _ls(control: ControlLink, home: Home, given: argparse.Namespace) -> int:
    accounts = await control.accounts()
    width = max([4, *(len(name) for name in accounts)])
    for name, account in sorted(accounts.items()):
        marks = [word for word, on in (("admin", account.admin), ("disabled", account.disabled)) if on]
        print(f"{name:{width}}  {', '.join(marks)}".rstrip())
    return 0


async def _verify(control: ControlLink, home: Home, given: argparse.Namespace) -> int:
    report = await control.verify_ledger()
    if report["ok"]:
        print(f"Intact: {report['entries']} entries, {report['intervals']} intervals.")
        return 0
    for fault in report["faults"]:
        print(fault, file=sys.stderr)
    print(f"Does not add up from entry {report['first_bad']}.", file=sys.stderr)
    return BROKEN


def _tell_code(home: Home, name: str, code: str) -> None:
    print(f"{name}: one-time code {code}")
    print(f"It is typed at {home.ports().url}hub/activate")


def _sentence(error: GearshiftError, home: Home) -> str:
    if error.code == "control_unavailable":
        return f"No deployment answers in {home.root}. Start it with `gearshift up`, or name its folder with --home."
    return error.message


if __name__ == "__main__":
    sys.exit(main())
