"""Reads the command line and hands each word to the file that knows it."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence

from gearshift.cli import box, data, idle, money, policy, state, waitlist, workspaces
from gearshift.cli.trouble import Refused
from gearshift.model.errors import GearshiftError

JOBS = "gearshift.train.commands"
"""Adds `job` with its verbs, where it is installed."""


def main(argv: Sequence[str] | None = None) -> int:
    """0 when done, 1 when what was asked for failed, 2 with a sentence when it was refused."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words and words[0] in box.MODULES:
            box.run(words[0], words[1:])
        given = parser().parse_args(words)
        run: Callable[[argparse.Namespace], int] = given.run
        return run(given)
    except Refused as refused:
        return _say(str(refused), refused.status)
    except GearshiftError as error:
        return _say(error.message, 2)
    except KeyboardInterrupt:
        return _say("Interrupted. What was begun goes on: see `gearshift workspaces`.", 130)


def parser() -> argparse.ArgumentParser:
    """All commands."""
    made = argparse.ArgumentParser(
        prog="gearshift",
        description="A workspace where the machine is a setting.",
    )
    nouns = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    box.add(nouns)
    workspaces.add(nouns)
    state.add(nouns)
    idle.add(nouns)
    waitlist.add(nouns)
    policy.add(nouns)
    data.add(nouns)
    money.add(nouns)
    if importlib.util.find_spec(JOBS) is not None:
        importlib.import_module(JOBS).add(nouns)
    return made


def _say(sentence: str, status: int) -> int:
    print(f"gearshift: {sentence}", file=sys.stderr)
    return status
