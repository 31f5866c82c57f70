"""`gearshift policy replay|sample`: what an idle rule would have saved over a trace of use, and whom it would have hit."""

from __future__ import annotations

import argparse
from pathlib import Path

from gearshift.cli.printing import table
from gearshift.cli.trouble import Refused
from gearshift.model.idle import IdleAction, Policy
from gearshift.replay import rules, sample
from gearshift.replay.rules import HOUR_S, Outcome
from gearshift.replay.trace import TraceError, read


def add(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    policy = nouns.add_parser("policy", help="try the idle rule on a trace of use")
    verbs = policy.add_subparsers(title="verbs", metavar="VERB", required=True)
    replay = verbs.add_parser("replay", help="accelerator-hours saved, and who would have been hit")
    replay.add_argument("trace", type=Path, metavar="TRACE.csv", help="see the how-to page for its columns")
    replay.add_argument("--after-minutes", type=float, default=30.0, help="idle for so long; 30")
    replay.add_argument("--warn-minutes", type=float, default=10.0, help="warned so long before; 10")
    replay.add_argument(
        "--stuck-hours", type=float, default=24.0, help="busy without computing; 24, 0 = never"
    )
    replay.add_argument(
        "--kill-minutes", type=float, help="of the rule it is compared with; as --after-minutes"
    )
    replay.add_argument("--step", type=float, default=60.0, metavar="SECONDS", help="between two looks; 60")
    replay.set_defaults(run=_replay)
    made = verbs.add_parser("sample", help="print a simulated trace")
    made.add_argument("--seed", type=int, default=1)
    made.set_defaults(run=_sample)


def _replay(given: argparse.Namespace) -> int:
    if min(given.after_minutes, given.warn_minutes, given.step) <= 0:
        raise Refused("--after-minutes, --warn-minutes and --step must be more than 0.")
    try:
        with given.trace.open(encoding="utf-8", newline="") as lines:
            trace = read(lines)
    except (OSError, UnicodeDecodeError, TraceError) as error:
        raise Refused(f"{given.trace}: {error}") from error
    policy = Policy(
        action=IdleAction.DROP,
        after_s=given.after_minutes * 60,
        warn_s=given.warn_minutes * 60,
        stuck_s=given.stuck_hours * HOUR_S,
    )
    kill = given.kill_minutes or given.after_minutes
    kept, killed, ruled = Outcome(), Outcome(), Outcome()
    for rows in trace.values():
        kept.add(rules.keep_until_stopped(rows))
        killed.add(rules.kill_after(rows, kill))
        ruled.add(rules.ours(rows, policy, given.step))
    _print(len(trace), kept, killed, ruled, kill, given.after_minutes)
    return 0 if ruled.hits == 0 else 1


def _print(workspaces: int, kept: Outcome, killed: Outcome, ruled: Outcome, kill: float, idle: float) -> None:
    named = (
        ("keep until stopped", kept),
        (f"kill after {kill:g} min", killed),
        (f"gearshift, {idle:g} min idle", ruled),
    )
    rows = [
        [
            name,
            f"{one.accelerator_hours:.1f}",
            _saved(one, kept),
            str(one.ended),
            str(one.hits),
            str(one.returns),
        ]
        for name, one in named
    ]
    table(["RULE", "ACCELERATOR-HOURS", "SAVED", "ENDED", "HIT WHILE COMPUTING", "CAME BACK"], rows)
    print(f"{workspaces} workspaces. Against keep until stopped {_against(ruled, kept)}; ", end="")
    print(f"against kill after {kill:g} min {_against(ruled, killed)}.")
    if ruled.stuck:
        print(f"{ruled.stuck} were busy without computing past the announced bound, and were warned.")


def _saved(one: Outcome, kept: Outcome) -> str:
    if not kept.accelerator_hours:
        return "–"
    return f"{100 * (1 - one.accelerator_hours / kept.accelerator_hours):.0f} %"


def _against(one: Outcome, other: Outcome) -> str:
    difference = other.accelerator_hours - one.accelerator_hours
    return f"{abs(difference):.1f} accelerator-hours {'saved' if difference >= 0 else 'more'}"


def _sample(given: argparse.Namespace) -> int:
    for line in sample.lines(given.seed):
        print(line)
    return 0
