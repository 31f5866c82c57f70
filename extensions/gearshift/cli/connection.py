"""Whom a command speaks to: the deployment and token named in the environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from gearshift.cli.trouble import Refused
from gearshift.client import Client

URL, TOKEN = "GEARSHIFT_URL", "GEARSHIFT_TOKEN"


def client() -> Client:
    """A client of GEARSHIFT_URL with GEARSHIFT_TOKEN; raises Refused with what is missing."""
    url, token = os.environ.get(URL), os.environ.get(TOKEN)
    if not url:
        raise Refused(f"Set {URL} to the address of your deployment, such as http://127.0.0.1:8000/.")
    if not token:
        raise Refused(f"Set {TOKEN} to a token of yours: {url.rstrip('/')}/hub/token makes one.")
    return Client(url, token)


def connected(run: Callable[[Client, argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """A command that is handed its client."""

    def connect(given: argparse.Namespace) -> int:
        with client() as made:
            return run(made, given)

    return connect


def owned(client: Client, name: str) -> str:
    """`owner/name` of a workspace; a name alone is one of the caller's own."""
    return name if "/" in name else f"{client.me()['name']}/{name}"
