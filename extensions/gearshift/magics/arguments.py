"""What `%gearshift` and `%%gearshift` take; a wrong word is an error with what is allowed, never an exit."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import Any, NoReturn

from gearshift.magics.phrases import pick, say
from gearshift.magics.refusal import MagicError
from gearshift.model.chinese import in_chinese
from gearshift.model.job import Launch, Retry
from gearshift.model.units import parse_money

DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h)?")
BUDGETS: dict[str, str] = {
    Retry.ERROR: "max_restarts",
    Retry.INTERRUPTION: "max_interruptions",
    Retry.NO_CAPACITY: "max_no_capacity",
}
SECONDS = {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}


class Parser(argparse.ArgumentParser):
    """argparse, but it raises."""

    def error(self, message: str) -> NoReturn:
        raise MagicError("bad_request", pick(message, in_chinese(message)), (self.format_usage().strip(),))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise MagicError(
            "bad_request", (message or "").strip() or say("usage"), (self.format_usage().strip(),)
        )


def money(text: str) -> int:
    try:
        return parse_money(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(say("no money", text=text)) from error


def seconds(text: str) -> int:
    found = DURATION.fullmatch(text.strip())
    if not found or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(say("no duration", text=text))
    return max(1, int(float(found[1]) * SECONDS[found[2]]))


def variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(say("no pair", text=text))
    return name, value


def retry(text: str) -> tuple[str, int]:
    """`interruption=3` as the field of the spec that holds this budget."""
    word, equals, number = text.partition("=")
    if word not in BUDGETS or not equals or not number.isdecimal():
        raise argparse.ArgumentTypeError(say("no retry", text=text, words=", ".join(BUDGETS)))
    return BUDGETS[word], int(number)


def budgets(asked: argparse.Namespace) -> dict[str, int]:
    """How often each kind of failure may be tried again, as fields of the spec."""
    return {"max_restarts": asked.max_restarts, **dict(asked.retry)}


def add_retries(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-restarts", type=int, default=0, help=say("help.max_restarts"))
    parser.add_argument(
        "--retry",
        nargs="+",
        type=retry,
        default=[],
        metavar="WORD=N",
        help=say("help.retry"),
    )


def cell_parser() -> Parser:
    """Of `%%gearshift`."""
    parser = Parser(prog="%%gearshift", add_help=False, allow_abbrev=False)
    parser.add_argument("--nodes", type=int, default=1, help=say("help.nodes"))
    parser.add_argument("--procs", type=int, default=1, help=say("help.procs"))
    parser.add_argument("--machine", help=say("help.machine"))
    parser.add_argument("--image", help=say("help.image"))
    parser.add_argument("--launch", choices=[launch.value for launch in Launch], default="env")
    parser.add_argument("--name", help=say("help.name"))
    parser.add_argument("--send", nargs="+", default=[], metavar="NAME", help=say("help.send"))
    parser.add_argument("--env", nargs="+", type=variable, default=[], metavar="NAME=VALUE")
    add_retries(parser)
    parser.add_argument("--grace", type=seconds, default=3, help=say("help.grace"))
    parser.add_argument("--group-timeout", type=seconds, default=600)
    parser.add_argument("--deadline", type=seconds)
    add_line(parser)
    parser.add_argument("--out", default="job", metavar="NAME", help=say("help.out"))
    parser.add_argument(
        "--attach",
        action="store_true",
        help=say("help.attach"),
    )
    parser.add_argument("--wait", action="store_true", help=say("help.wait"))
    add_caps(parser)
    return parser


def add_line(parser: argparse.ArgumentParser) -> None:
    """What decides about the place in line, and what those behind are told."""
    parser.add_argument("--expect", type=seconds, metavar="TIME", help=say("help.expect"))
    parser.add_argument("--priority", type=int, default=0, help=say("help.priority"))


def add_caps(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-price", type=money, help=say("help.max_price"))
    parser.add_argument("--max-cost", type=money, help=say("help.max_cost"))


def line_parser() -> Parser:
    """Of `%gearshift`."""
    parser = Parser(prog="%gearshift", add_help=False, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def command(name: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=say(f"help.{name}"), add_help=False, allow_abbrev=False)

    command("status")
    command("help")
    mount = command("mount")
    mount.add_argument("names", nargs="+")
    command("unmount").add_argument("names", nargs="+")
    command("disks")
    command("datasets").add_argument("words", nargs="*")
    switch = command("switch")
    switch.add_argument("machine")
    add_caps(switch)
    command("jobs")
    logs = command("logs")
    logs.add_argument("job")
    logs.add_argument("--rank", type=int, default=0)
    logs.add_argument("--lines", type=int, default=200)
    cancel = command("cancel")
    cancel.add_argument("job")
    add_caps(cancel)
    command("show").add_argument("job")
    command("result").add_argument("job")
    command("cost")
    return parser


def split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        problem = pick(str(error), in_chinese(str(error)))
        raise MagicError("bad_request", say("bad line", problem=problem, line=line.strip())) from error


def parse(parser: Parser, line: str) -> Any:
    return parser.parse_args(split(line))
