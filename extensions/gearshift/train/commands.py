"""`gearshift job run|ls|top|show|logs|cancel|resume`: jobs from a terminal."""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gearshift.cli.connection import client
from gearshift.client import Caps, Client
from gearshift.magics import arguments, words
from gearshift.model.errors import fail
from gearshift.model.job import Launch
from gearshift.train import script

FINAL = ("succeeded", "failed", "cancelled")
POLL_SECONDS = 0.5
TOP_SECONDS = 2.0
CLEAR = "\x1b[2J\x1b[H"
SPEC_SUFFIX = ".toml"
EXIT = {"succeeded": 0, "failed": 1, "cancelled": 130}


def add(nouns: argparse._SubParsersAction[Any]) -> None:
    """Put `job` among the nouns of the command line; each verb leaves its function in `run`."""
    job = nouns.add_parser("job", help="run, list, show, follow and cancel jobs")
    verbs = job.add_subparsers(dest="verb", required=True)

    def verb(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = verbs.add_parser(name, help=text)
        parser.set_defaults(run=run)
        return parser

    _add_run(verb("run", run_script, "run a script, or what a spec file says, as a gang"))
    verb("ls", list_jobs, "your jobs, newest first")
    verb("top", watch_jobs, "what runs now, followed in a terminal until Ctrl-C")
    _add_resume(verb("resume", resume_job, "a new job that goes on from an ended one's newest checkpoint"))
    verb("show", show_job, "one job").add_argument("job")
    logs = verb("logs", print_logs, "the log of a rank")
    logs.add_argument("job")
    logs.add_argument("--rank", type=int, default=0)
    logs.add_argument("-f", "--follow", action="store_true", help="until the job has ended")
    cancel = verb("cancel", cancel_job, "end a job")
    cancel.add_argument("job")
    arguments.add_caps(cancel)


def run_script(asked: argparse.Namespace) -> int:
    """Plan, ask (or keep to the caps), and follow when told to."""
    with client() as control:
        path, given = _from_file(asked) if asked.script.endswith(SPEC_SUFFIX) else (Path(asked.script), {})
        packed = script.bundle_of(path).pack()
        return _begin(control, _spec(control, asked, control.send_bundle(packed), path) | given, asked)


def resume_job(asked: argparse.Namespace) -> int:
    """The same spec again, with what was asked to differ, from the newest complete checkpoint."""
    with client() as control:
        before = control.job(asked.job)["spec"]
        changed = {name: value for name in ("machine", "nodes", "procs") if (value := getattr(asked, name))}
        return _begin(control, before | changed | {"resume": asked.job, "attached": False}, asked)


def watch_jobs(_asked: argparse.Namespace) -> int:
    """Once when nobody watches (a pipe), else again and again."""
    with client() as control:
        symbol = control.me()["currency_symbol"]
        while sys.stdout.isatty():
            print(CLEAR + _top(control, symbol), flush=True)
            time.sleep(TOP_SECONDS)
        print(_top(control, symbol))
    return 0


def list_jobs(_asked: argparse.Namespace) -> int:
    with client() as control:
        rows = [[job["id"], job["spec"]["name"], words.sentence(job)] for job in control.jobs()]
    print(words.table(rows) if rows else "no jobs")
    return 0


def show_job(asked: argparse.Namespace) -> int:
    with client() as control:
        print(words.plain(control.job(asked.job), control.me()["currency_symbol"]))
    return 0


def print_logs(asked: argparse.Namespace) -> int:
    with client() as control:
        if asked.follow:
            return _follow(control, asked.job, asked.rank)
        _print_from(control, asked.job, asked.rank, 0)
    return 0


def cancel_job(asked: argparse.Namespace) -> int:
    with client() as control:
        plan = control.plan("cancel_job", job=asked.job)
        job = control.confirm(plan, _agreed(control, plan, asked))
    print(f"job {job['id']} {job['state']}")
    return 0


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "script", help=f"options of ours come before it, as with torchrun; NAME{SPEC_SUFFIX} is a spec file"
    )
    parser.add_argument("argv", nargs=argparse.REMAINDER, help="what the script gets")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--procs", type=int, default=1)
    parser.add_argument("--machine", help="needed unless a spec file names it")
    parser.add_argument("--image")
    parser.add_argument("--launch", choices=[launch.value for launch in Launch], default="env")
    parser.add_argument("--name")
    parser.add_argument("--env", nargs="+", type=arguments.variable, default=[], metavar="NAME=VALUE")
    arguments.add_retries(parser)
    parser.add_argument("--deadline", type=arguments.seconds)
    arguments.add_line(parser)
    _add_going(parser)


def _add_resume(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job")
    parser.add_argument("--machine", help="another one than before")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--procs", type=int)
    _add_going(parser)


def _add_going(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help="print the log of rank 0 until the end")
    arguments.add_caps(parser)


def _begin(control: Client, spec: dict[str, Any], asked: argparse.Namespace) -> int:
    plan = control.plan("job", spec=spec)
    job = control.confirm(plan, _agreed(control, plan, asked))
    print(f"job {job['id']}")
    return _follow(control, job["id"], 0) if asked.follow else 0


def _from_file(asked: argparse.Namespace) -> tuple[Path, dict[str, Any]]:
    """The script beside the spec file, and the fields of a JobSpec that it gives; control refuses unknown ones."""
    page = Path(asked.script)
    try:
        given = tomllib.loads(page.read_text())
    except (OSError, ValueError) as error:
        raise fail("bad_request", field="script", value=str(page), problem=str(error)) from error
    name = given.pop("script", None)
    if not isinstance(name, str):
        raise fail("bad_request", field="script", value=str(page), problem='it needs script = "NAME.py"')
    return page.parent / name, given


def _top(control: Client, symbol: str) -> str:
    """A line for each job that has not ended."""
    rows = [["job", "name", "machine", "state", "cost"]]
    for job in control.jobs():
        if job["state"] not in FINAL:
            shape = f"{job['spec']['nodes']} × {job['spec']['procs']} {job['spec']['machine']}"
            figures = dict(words.facts(job, symbol))
            doing = f"step {figures['step']}" if "step" in figures else words.sentence(job)
            rows.append([job["id"], job["spec"]["name"], shape, doing, figures["cost"]])
    return words.table(rows) if len(rows) > 1 else "nothing runs"


def _spec(control: Client, asked: argparse.Namespace, code: str, path: Path) -> dict[str, Any]:
    return {
        "name": asked.name or path.name,
        "machine": asked.machine,
        "image": asked.image or control.catalog()["images"][0]["id"],
        "nodes": asked.nodes,
        "procs": asked.procs,
        "launch": asked.launch,
        "code": code,
        "argv": asked.argv,
        "env": dict(asked.env),
        **arguments.budgets(asked),
        "deadline_seconds": asked.deadline,
        "expected_seconds": asked.expect,
        "priority": asked.priority,
        "budget_nano": asked.max_cost,
    }


def _agreed(control: Client, plan: dict[str, Any], asked: argparse.Namespace) -> Caps | None:
    """The caps, or None for the yes on the terminal; raises when there is neither."""
    if asked.max_price is not None and asked.max_cost is not None:
        return Caps(asked.max_price, asked.max_cost)
    if not sys.stdin.isatty():
        raise fail("needs_confirmation", field="press", value=False)
    print("\n".join(words.plan_lines(plan, control.me()["currency_symbol"])))
    if input("Do it? Type yes: ").strip().lower() != "yes":
        raise fail("cancelled", by="you")
    return None


def _follow(control: Client, job: str, rank: int) -> int:
    """Print what comes until the job has ended; its state is the exit code, its failure the last words."""
    offset = 0
    while True:
        found = control.job(job)
        offset = _print_from(control, job, rank, offset)
        if found["state"] in FINAL:
            print(f"job {job}: {words.sentence(found)}", file=sys.stderr)
            return EXIT[found["state"]]
        time.sleep(POLL_SECONDS)


def _print_from(control: Client, job: str, rank: int, offset: int) -> int:
    while (page := control.job_log(job, rank, offset))["text"]:
        print(page["text"], end="", flush=True)
        offset = page["offset"]
    return offset
