"""`python -m gearshift.train.gang DIR`: supervise the job whose order lies in DIR.

With `--standby SECONDS` wait in DIR for a job like the one whose order lies there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gearshift.train.gang import enclosure
from gearshift.train.gang.enclosure import Enclosure
from gearshift.train.gang.order import Order
from gearshift.train.gang.standby import stand_by
from gearshift.train.gang.supervisor import listen, supervise


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="gearshift.train.gang")
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--standby", type=float, metavar="SECONDS")
    given = parser.parse_args(argv)
    order = Order.read(given.folder)
    code = enclosure.run(lambda inside: _run(order, given, inside), order.private_network)
    return code if code >= 0 else 128 - code


def _run(order: Order, given: argparse.Namespace, inside: Enclosure) -> int:
    if given.standby is not None:
        return stand_by(given.folder, order, given.standby, inside)
    return supervise(order, inside, listen())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
