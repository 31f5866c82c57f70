"""`python -m gearshift_hub.supervisor`, which `gearshift up` and `make run` call."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from gearshift.model.errors import GearshiftError

from gearshift_hub.paths import Home
from gearshift_hub.supervisor.parts import MakeParts, parts
from gearshift_hub.supervisor.preflight import prepare
from gearshift_hub.supervisor.running import run
from gearshift_hub.supervisor.trouble import CannotStart

REFUSED = 2


def main(argv: list[str] | None = None, make_parts: MakeParts = parts) -> int:
    """0 after a stop that was asked for, 2 with one sentence when it could not start or go on."""
    given = _parser().parse_args(argv)
    home = Home(given.home.expanduser().absolute()) if given.home else Home.default()
    overrides = {"host": given.host, "port": given.port, "base_url": _base_url(given.base_url)}
    try:
        ready = prepare(home, given.deployment, overrides)
        _say(f"Starting Gearshift in {home.root}")
        if ready.leftovers:
            _say(f"  ended what a killed supervisor left: {', '.join(ready.leftovers)}")
        asyncio.run(run(ready, _say, make_parts))
    except CannotStart as refused:
        return _refuse(refused)
    except GearshiftError as error:
        return _refuse(CannotStart(error.message))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gearshift up", description="Start a deployment and keep it running."
    )
    parser.add_argument(
        "--home", type=Path, help="folder of all state (default: GEARSHIFT_HOME, else the usual one)"
    )
    parser.add_argument(
        "--deployment", "--config", type=Path, help="deployment file (default: the embedded one)"
    )
    parser.add_argument("--host", help="address to listen on")
    parser.add_argument("--port", type=int, help="public port")
    parser.add_argument("--base-url", help="path all addresses begin with, such as /team/")
    return parser


def _base_url(given: str | None) -> str | None:
    return None if given is None else f"/{given.strip('/')}/".replace("//", "/")


def _refuse(refused: CannotStart) -> int:
    print(f"gearshift: {refused}", file=sys.stderr, flush=True)
    return REFUSED


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
