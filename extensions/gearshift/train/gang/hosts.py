"""The names of a gang's nodes: `node-0`, `node-1` … stand in an /etc/hosts that only this gang sees."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gearshift.train.gang.enclosure import MS_BIND, Enclosure, libc
from gearshift.train.gang.order import Order
from gearshift.train.place import is_address

SYSTEM = Path("/etc/hosts")


def path(order: Order) -> Path:
    return order.out / "hosts"


def show(order: Order, enclosure: Enclosure) -> None:
    """Put the gang's own file in place of the box's, in a mount namespace of ours; where that cannot be, addresses do."""
    path(order).write_text(_of_box() + _lines(order))
    if enclosure.pid_namespace and SYSTEM.exists():
        libc.mount(os.fsencode(path(order)), os.fsencode(SYSTEM), None, MS_BIND, None)


def write(order: Order) -> None:
    """The addresses as they are now, in the same file: another one would not be seen."""
    own = _of_box() if not path(order).exists() else _before(path(order).read_text())
    with suppress(OSError):
        path(order).write_text(own + _lines(order))


MARK = "# nodes of this job\n"


def _before(text: str) -> str:
    return text.partition(MARK)[0]


def _of_box() -> str:
    try:
        return SYSTEM.read_text().rstrip("\n") + "\n"
    except OSError:
        return "127.0.0.1 localhost\n"


def _lines(order: Order) -> str:
    """A node's names, and one for the form in which torch asks who an IPv4 peer is: else it warns of each."""
    known = [(n, place.address) for n, place in enumerate(order.nodes) if is_address(place.address)]
    names = [f"{address} node-{n} node-{n}.{order.job}\n" for n, address in known]
    mapped = [f"::ffff:{address} peer-{n}\n" for n, address in known if ":" not in address]
    return MARK + "".join(names + mapped)
