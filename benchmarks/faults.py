"""Row `faults`: 1,000 random faults over start, switch, stop, snapshot and job; nothing lost, doubled, oversold, stuck.

At control, around a hub and servers in memory that fail where they are told to. `--seed` replays a storm, `--faults`
sets how many; `--real N` adds N kills of real processes of a real deployment, at random moments of real switches.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/support"))

from gearshift_hub.control.db.base import Database
from gearshift_hub.control.db.migrate import upgrade
from gearshift_testing.fault_storm import COUNTED, Count, Storm

FAULTS, SEED = 1000, 1


def main(argv: list[str] | None = None) -> int:
    given = _parser().parse_args(argv or [])
    logging.disable(logging.CRITICAL)  # every fault is logged by those who meet it
    began = time.perf_counter()
    count = asyncio.run(storm(given.seed, given.faults))
    for case in count.cases:
        print(case)
    print(_line(count, given.seed, time.perf_counter() - began))
    return 1 if count.found else 0


async def storm(seed: int, faults: int) -> Count:
    with tempfile.TemporaryDirectory(prefix="gearshift-storm-") as folder:
        url = f"sqlite:///{folder}/control.sqlite"
        db = Database(url)
        upgrade(db.engine)
        db.close()
        world = Storm(url, seed)
        try:
            return await world.blow(faults)
        finally:
            await world.close()


def _line(count: Count, seed: int, seconds: float) -> str:
    figures = ", ".join(f"{count.found[kind]} {kind}" for kind in COUNTED)
    goal = "ok" if not count.found else "short"
    return f"faults: {count.faults} faults in {count.waves} waves, seed {seed}, {seconds:.0f} s: {figures} (goal 0): {goal}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--faults", type=int, default=FAULTS)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
