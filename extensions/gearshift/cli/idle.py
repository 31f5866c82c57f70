"""`gearshift idle|keep|when-done|back`: what becomes of a workspace that nobody uses, and the way back to its chip."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from gearshift.cli.confirming import add_caps, do
from gearshift.cli.connection import connected, owned
from gearshift.cli.printing import ended
from gearshift.cli.trouble import Refused
from gearshift.client import Client
from gearshift.model.units import from_iso, to_iso

ACTIONS = ("stop", "drop", "keep")
BUSY = {
    "kernel": "a kernel is busy",
    "terminal": "a terminal runs something",
    "job": "a job runs",
    "chip": "the accelerator is used",
    "cpu": "the processor is used",
    "page": "a page is open",
    "unknown": "its server does not answer",
}
DOES = {"stop": "stops", "drop": "drops to {machine}"}
WHY = {"idle": "idle", "stuck": "busy without computing", "end_of_work": "the end of its work"}


def add(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = nouns.add_parser("idle", help="show or choose what happens when nobody uses a workspace")
    show.add_argument("name")
    show.add_argument("--action", choices=ACTIONS, help="what happens then; needs --after-hours")
    show.add_argument("--after-hours", type=float, metavar="HOURS")
    show.add_argument("--default", action="store_true", help="as the deployment says, again")
    show.set_defaults(run=connected(_idle))
    keep = nouns.add_parser("keep", help="keep an idle workspace longer")
    keep.add_argument("name")
    keep.add_argument("--hours", type=float, default=1.0)
    keep.set_defaults(run=connected(_keep))
    done = nouns.add_parser("when-done", help="drop or stop once, when what runs has ended")
    done.add_argument("name")
    done.add_argument("action", choices=ACTIONS, help="keep calls it off")
    done.add_argument("--in-minutes", type=float, metavar="MINUTES", help="not before so many minutes")
    done.set_defaults(run=connected(_when_done))
    back = nouns.add_parser("back", help="switch back to the machine it was on before")
    back.add_argument("name")
    back.set_defaults(run=connected(_back))
    add_caps(back)


def _idle(client: Client, given: argparse.Namespace) -> int:
    workspace = owned(client, given.name)
    if given.default:
        return _say(client.unchoose_idle(workspace))
    if (given.action is None) != (given.after_hours is None):
        raise Refused("--action and --after-hours belong together: give both or none.")
    if given.action is None:
        return _say(client.idle(workspace))
    return _say(client.choose_idle(workspace, given.action, given.after_hours))


def _keep(client: Client, given: argparse.Namespace) -> int:
    return _say(client.keep(owned(client, given.name), given.hours))


def _when_done(client: Client, given: argparse.Namespace) -> int:
    at = None
    if given.in_minutes is not None:
        at = to_iso(datetime.now(UTC) + timedelta(minutes=given.in_minutes))
    return _say(client.end_of_work(owned(client, given.name), given.action, at))


def _back(client: Client, given: argparse.Namespace) -> int:
    workspace = owned(client, given.name)
    before = client.idle(workspace)["before"]
    if before is None:
        raise Refused(f"{given.name} was on no other machine before.", status=1)
    ended(do(client, given, "switch", workspace=workspace, machine=before))
    print(f"{given.name} is on {before} again. Same kernels, same variables.")
    return 0


def _say(found: dict[str, Any], say: Callable[[str], None] = print) -> int:
    """The state in at most three sentences."""
    say(_policy(found))
    if found["busy"]:
        say(f"Not idle now: {', '.join(BUSY[one] for one in found['busy'])}.")
    if found["end"]:
        moment = f", not before {_time(found['end']['at'])}" if found["end"]["at"] else ""
        say(f"When its work ends it {_does(found, found['end']['action'])}{moment}.")
    if found["acts_at"]:
        say(f"It {_does(found, found['next'])} at {_time(found['acts_at'])}: {WHY[found['cause']]}.")
    return 0


def _policy(found: dict[str, Any]) -> str:
    whose = "your choice" if found["own"] else "the deployment's"
    if found["action"] == "keep" or not found["after_hours"]:
        return f"Nothing happens when it is idle ({whose})."
    return f"After {found['after_hours']:g} h idle it {_does(found, found['action'])} ({whose})."


def _does(found: dict[str, Any], action: str) -> str:
    if action == "drop" and found["drop_to"] is None:
        return "stops, since no other machine is cheaper"
    return DOES[action].format(machine=found["drop_to"])


def _time(iso: str) -> str:
    return from_iso(iso).astimezone().strftime("%H:%M:%S")
