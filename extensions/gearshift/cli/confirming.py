"""The yes on a terminal: figures are shown, then a person answers, or caps given on the command line do."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from gearshift.cli.printing import price
from gearshift.cli.trouble import Refused
from gearshift.client import Caps, Client
from gearshift.model.operation import Operation
from gearshift.model.units import format_money, parse_money

WAIT_S = 600.0


def add_caps(parser: argparse.ArgumentParser) -> None:
    """--yes, or both caps for a program."""
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--max-price", metavar="AMOUNT", help="refuse a higher price per hour; for programs")
    parser.add_argument("--max-cost", metavar="AMOUNT", help="stop when it has cost so much; for programs")


def do(client: Client, given: argparse.Namespace, kind: str, **body: Any) -> Operation:
    """Plan, show, confirm, wait."""
    return client.wait(agreed(client, given, kind, **body)["id"], WAIT_S)


def agreed(client: Client, given: argparse.Namespace, kind: str, **body: Any) -> dict[str, Any]:
    """Plan, show, confirm; what came of it."""
    plan = client.plan(kind, **body)
    caps = _caps(given)
    if caps is None and not given.yes:
        _ask(client, plan)
    return client.confirm(plan, caps)


def _caps(given: argparse.Namespace) -> Caps | None:
    if (given.max_price is None) != (given.max_cost is None):
        raise Refused("--max-price and --max-cost belong together: give both or none.")
    if given.max_price is None:
        return None
    return Caps(_amount(given.max_price, "--max-price"), _amount(given.max_cost, "--max-cost"))


def _amount(text: str, option: str) -> int:
    try:
        return parse_money(text)
    except ValueError as bad:
        raise Refused(f"{option} {text!r} is not an amount such as 0.50.") from bad


def _ask(client: Client, plan: dict[str, Any]) -> None:
    if not sys.stdin.isatty():
        raise Refused("Nobody is here to say yes. Give --yes, or --max-price and --max-cost.")
    symbol = client.me()["currency_symbol"]
    for line in figures(plan, symbol):
        print(line)
    if input("Go on? [y/N] ").strip().lower() not in ("y", "yes"):
        raise Refused("Nothing was done.", status=1)


def figures(plan: dict[str, Any], symbol: str) -> list[str]:
    """What the person should know before the yes."""
    shown = plan["figures"]
    lines = [f"{plan['kind']} {shown.get('workspace', '')}".rstrip()]
    if "price_before_nano" in shown:
        before, after = shown["price_before_nano"], shown["price_after_nano"]
        lines.append(f"  price    {price(before, symbol)} now, {price(after, symbol)} then")
    elif shown.get("price_per_hour_nano"):
        lines.append(f"  price    {price(shown['price_per_hour_nano'], symbol)}, charged from ready")
    lines += [f"  {line}" for line in _kept(shown)]
    if "rollback" in shown:
        lines.append(f"  takes    {_takes(shown)}")
        lines.append(f"  mode     {shown['mode']}; if a step fails: {shown['rollback']}")
    lines += [f"  {line}" for line in _lost(shown.get("kernels") or [])]
    if shown.get("balance_nano") is not None:
        lines.append(f"  balance  {format_money(shown['balance_nano'], symbol)}")
    return lines


def _takes(shown: dict[str, Any]) -> str:
    """Seconds, and whether they are measured ones; what does not fit there."""
    runs, fits = shown["learned_from"], shown["fits"]
    basis = f"as the last {runs} measured" if runs else "a first guess"
    small = "" if fits is None or fits["ok"] else "; what is in use does not fit there"
    return f"about {shown['seconds']:.1f} s, {basis}{small}"


def _kept(shown: dict[str, Any]) -> list[str]:
    """What comes back, is overwritten, or goes for good."""
    lines = []
    back = shown.get("restores") or shown.get("state")
    if back:
        variables = sum(len(kernel["variables"]) for kernel in back["kernels"])
        lines.append(f"kept     {variables} variables of {back['taken_at'][:16].replace('T', ' ')} UTC")
    for kernel in shown.get("kernels") or []:
        if kernel.get("overwritten"):
            lines.append(f"written over in {kernel['path']}: {', '.join(kernel['overwritten'])}")
        if kernel.get("overwritten", []) is None:
            lines.append(f"written over in {kernel['path']}: not known, a cell is running")
    if "goes" in shown:
        lines.append(f"goes     {', '.join(shown['goes'])} ({shown['states']} kept states)")
        lines.append(f"stays    {', '.join(shown['stays'])}")
    return lines


def _lost(kernels: list[dict[str, Any]]) -> list[str]:
    """Variables that do not move, by name, each with its way back."""
    return [
        f"not moved {one.get('name')} ({one.get('type')}): {one.get('way_back') or one.get('why') or 'left out'}"
        for kernel in kernels
        for one in kernel.get("variables", [])
        if isinstance(one, dict) and one.get("verdict") not in ("copy", None)
    ]
