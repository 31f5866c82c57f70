"""Before the code of a rank begins: the first node's name is waited for, and the supervisor is told how far we are.

The supervisor has the one deadline for all of it, and names the node, the rank and the step that did not come.
"""

from __future__ import annotations

import os
import socket
import time

from gearshift.train import metrics
from gearshift.train.place import Place, is_address

ASK_SECONDS = 0.2


def settle(place: Place) -> None:
    """Turn the name of the first node into its address, however long that takes; then we have joined."""
    host = os.environ.get("MASTER_ADDR", "")
    if place.distributed and host and not is_address(host):
        metrics.sign(waits=f"the name {host[:253]!r} of node 0 is not known (step: look-up)")
        os.environ["MASTER_ADDR"] = _looked_up(host)
    metrics.sign(waits="")


def _looked_up(host: str) -> str:
    while True:
        try:
            return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
        except socket.gaierror:
            time.sleep(ASK_SECONDS)
