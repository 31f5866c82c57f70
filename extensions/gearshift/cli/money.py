"""`gearshift costs`: what is left, what runs, what today has cost."""

from __future__ import annotations

import argparse

from gearshift.cli.connection import connected
from gearshift.cli.printing import price
from gearshift.client import Client
from gearshift.model.units import format_money


def add(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    nouns.add_parser("costs", help="your balance, and what today and this month have cost").set_defaults(
        run=connected(_costs)
    )


def _costs(client: Client, given: argparse.Namespace) -> int:
    me = client.me()
    symbol = me["currency_symbol"]
    print(f"balance     {format_money(me['balance_nano'], symbol)}")
    print(f"now         {price(me['rate_per_hour_nano'], symbol)}")
    print(f"today       {format_money(me['today_nano'], symbol)}")
    print(f"this month  {format_money(me['month_nano'], symbol)}")
    return 0
