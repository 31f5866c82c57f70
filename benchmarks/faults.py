"""Row `faults`: 1,000 random faults over start, switch, stop, snapshot and job; nothing lost, doubled, oversold, stuck.

At control, around a hub and servers in memory that fail where they are told to. `--seed` replays a storm, `--faults`
sets how many; `--real N` adds N kills of real processes of a real deployment, at random moments of real switches.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/support"))

from gearshift_hub.control.db.base import Database
from gearshift_hub.control.db.migrate import upgrade
from gearshift_testing.fault_storm import COUNTED, Count, Storm
from gearshift_testing.gates import Point
from gearshift_testing.held_switches import OTHER, Bench, held_switches

FAULTS, SEED, EVERY = 1000, 1, 50
PARTS = ("control", "hub", "traefik")
POINTS: tuple[Point, ...] = (
    *(("forward", step, "begun") for step in ("save", "stop", "start", "restore", "verify", "release")),
    *(("forward", step, "done") for step in ("save", "stop", "start", "restore")),
    *(("back", step, "begun") for step in ("verify", "restore", "start", "stop", "save", "reserve")),
)
NEW_RUNS: tuple[Point, ...] = (
    ("forward", "start", "done"),
    ("forward", "restore", "begun"),
    ("forward", "restore", "done"),
)


def main(argv: list[str] | None = None) -> int:
    given = _parser().parse_args(argv or [])
    logging.disable(logging.CRITICAL)  # every fault is logged by those who meet it
    began = time.perf_counter()
    count = asyncio.run(storm(given.seed, given.faults))
    print(_line(count, given.seed, time.perf_counter() - began))
    wrong = real(given.seed, given.real) if given.real else 0
    return 1 if count.found or wrong else 0


async def storm(seed: int, faults: int) -> Count:
    with tempfile.TemporaryDirectory(prefix="gearshift-storm-") as folder:
        url = f"sqlite:///{folder}/control.sqlite"
        db = Database(url)
        upgrade(db.engine)
        db.close()
        world, shown = Storm(url, seed), 0
        try:
            for goal in (*range(EVERY, faults, EVERY), faults):
                count = await world.blow(goal)
                print(
                    f"{count.faults} faults in {count.waves} waves: {dict(count.found) or 'nothing'} found",
                    flush=True,
                )
                for case in count.cases[shown:]:
                    print(case, flush=True)
                shown = len(count.cases)
            return count
        finally:
            await world.close()


def real(seed: int, kills: int) -> int:
    """Kills of real processes, each while a real switch is held at a random step; how many came out wrong."""
    dice, wrong = random.Random(seed), 0
    with held_switches() as bench:
        for number in range(1, kills + 1):
            point = dice.choice(POINTS)
            part = dice.choice([*PARTS, "new server"] if point in NEW_RUNS else PARTS)
            try:
                cell(bench, point, part)
                print(f"real {number} of {kills}: {part} at {' '.join(point)}: ok", flush=True)
            except AssertionError as error:
                wrong += 1
                print(f"real {number} of {kills}: {part} at {' '.join(point)}: {error}", flush=True)
    print(f"faults, real: {kills} kills, seed {seed}: {wrong} wrong (goal 0): {'short' if wrong else 'ok'}")
    return wrong


def cell(bench: Bench, point: Point, part: str) -> None:
    """One switch with one kill; then it is on one of the two machines with its state."""
    bench.ready()
    provoked = point[0] == "back"
    gates: list[Point] = [("forward", "verify", "begun"), point] if provoked else [point]
    operation = bench.switch(*gates)
    if provoked:
        bench.at(gates[0], bench.kill_server)
    bench.at(point, bench.kill_server if part == "new server" else lambda: bench.kill(part))
    done = bench.ended(operation)["state"] == "done"
    machine = OTHER[bench.machine] if done else bench.machine
    bench.is_on(machine, same_process=not done)


def _line(count: Count, seed: int, seconds: float) -> str:
    figures = ", ".join(f"{count.found[kind]} {kind}" for kind in COUNTED)
    goal = "ok" if not count.found else "short"
    return f"faults: {count.faults} faults in {count.waves} waves, seed {seed}, {seconds:.0f} s: {figures} (goal 0): {goal}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--real", type=int, default=0, metavar="N")
    parser.add_argument("--faults", type=int, default=FAULTS)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
