"""What `%gearshift` and `%%gearshift` take; a wrong word is an error with what is allowed, never an exit."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import Any, NoReturn

from gearshift.magics.refusal import MagicError
from gearshift.model.job import Launch
from gearshift.model.units import parse_money

DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h)?")
SECONDS = {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}


class Parser(argparse.ArgumentParser):
    """argparse, but it raises."""

    def error(self, message: str) -> NoReturn:
        raise MagicError("bad_request", message, (self.format_usage().strip(),))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise MagicError(
            "bad_request", (message or "").strip() or "see the usage", (self.format_usage().strip(),)
        )


def money(text: str) -> int:
    try:
        return parse_money(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of money, such as 2.50") from error


def seconds(text: str) -> int:
    found = DURATION.fullmatch(text.strip())
    if not found or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration, such as 90, 30min or 2h")
    return max(1, int(float(found[1]) * SECONDS[found[2]]))


def variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value


def cell_parser() -> Parser:
    """Of `%%gearshift`."""
    parser = Parser(prog="%%gearshift", add_help=False, allow_abbrev=False)
    parser.add_argument("--nodes", type=int, default=1, help="nodes of the gang")
    parser.add_argument("--procs", type=int, default=1, help="processes a node")
    parser.add_argument("--machine", help="machine of each node; default: this workspace's")
    parser.add_argument("--image", help="default: this workspace's")
    parser.add_argument("--launch", choices=[launch.value for launch in Launch], default="env")
    parser.add_argument("--name", help="shown in lists; default: the cell's number")
    parser.add_argument(
        "--send", nargs="+", default=[], metavar="NAME", help="values over 1 MiB that go along"
    )
    parser.add_argument("--env", nargs="+", type=variable, default=[], metavar="NAME=VALUE")
    parser.add_argument("--max-restarts", type=int, default=0)
    parser.add_argument("--grace", type=seconds, default=3, help="from TERM to KILL")
    parser.add_argument("--group-timeout", type=seconds, default=600)
    parser.add_argument("--deadline", type=seconds)
    parser.add_argument("--out", default="job", metavar="NAME", help="the variable that holds the job")
    parser.add_argument(
        "--attach",
        action="store_true",
        help="wait, and end the job when this cell is interrupted or its kernel goes",
    )
    parser.add_argument("--wait", action="store_true", help="wait for the end; a failure is an error here")
    add_caps(parser)
    return parser


def add_caps(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-price", type=money, help="cap on the price per hour, with a spend token")
    parser.add_argument("--max-cost", type=money, help="cap on the cost, with a spend token")


def line_parser() -> Parser:
    """Of `%gearshift`."""
    parser = Parser(prog="%gearshift", add_help=False, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, add_help=False, allow_abbrev=False)

    command("status", "workspace, machine, price, balance")
    command("help", "this list")
    mount = command("mount", "attach data sets or models; read-only, no traffic fee")
    mount.add_argument("names", nargs="+")
    command("unmount", "detach").add_argument("names", nargs="+")
    command("disks", "your disks")
    command("datasets", "what can be mounted").add_argument("words", nargs="*")
    switch = command("switch", "propose another machine")
    switch.add_argument("machine")
    add_caps(switch)
    command("jobs", "your jobs")
    logs = command("logs", "the log of a rank")
    logs.add_argument("job")
    logs.add_argument("--rank", type=int, default=0)
    logs.add_argument("--lines", type=int, default=200)
    cancel = command("cancel", "end a job")
    cancel.add_argument("job")
    add_caps(cancel)
    command("show", "a job's live view").add_argument("job")
    command("result", "what rank 0 handed back").add_argument("job")
    command("cost", "what today has cost")
    return parser


def split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise MagicError("bad_request", f"{error} in {line.strip()!r}") from error


def parse(parser: Parser, line: str) -> Any:
    return parser.parse_args(split(line))
