"""`python -m gearshift.train.gang DIR`: supervise the job whose order lies in DIR."""

from __future__ import annotations

import sys
from pathlib import Path

from gearshift.train.gang import enclosure
from gearshift.train.gang.order import Order
from gearshift.train.gang.supervisor import supervise


def main(argv: list[str]) -> int:
    order = Order.read(Path(argv[0]).resolve())
    code = enclosure.run(lambda inside: supervise(order, inside), order.private_network)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
