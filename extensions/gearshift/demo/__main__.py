"""`gearshift demo`: on a running deployment with --url, else on one of its own. Exit status 0 when all was right."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import sys

from gearshift.demo.drive import drive
from gearshift.demo.own import Place, own_deployment


def main(argv: list[str] | None = None) -> int:
    """0 when every step ended as it must, else 1 with the step's sentence."""
    parser = argparse.ArgumentParser(prog="gearshift demo", description=__doc__)
    parser.add_argument("--url", help="a running deployment; without it the demo starts one of its own")
    parser.add_argument("--name", default="admin", help="who signs in")
    given = parser.parse_args(argv)
    print("Gearshift demo: real input, real processes; sim-1 is a simulated chip")
    try:
        with running(given.url, given.name) as place:
            drive(place)
    except Exception as error:  # whatever went wrong, the person gets one sentence and a status
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print("All of it worked.")
    return 0


def running(url: str | None, name: str) -> contextlib.AbstractContextManager[Place]:
    if url is None:
        return own_deployment()
    return contextlib.nullcontext(Place(url, name, getpass.getpass(f"Password of {name}: ")))


if __name__ == "__main__":
    sys.exit(main())
