"""Run in a network namespace of its own: who reaches a port with and without an owner rule. Prints JSON."""

from __future__ import annotations

import json
import os
import socket
import subprocess

from gearshift_hub.backends.local import firewall

OWNER, OTHER = 28001, 28002


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        firewall.close_ports(OWNER, [port])
        firewall.close_ports(OWNER, [port])
        closed = {str(uid): _connect_as(uid, port) for uid in (OWNER, OTHER, 0)}
        firewall.open_ports(OWNER, [port])
        firewall.open_ports(OWNER, [port])
        opened = {str(uid): _connect_as(uid, port) for uid in (OWNER, OTHER, 0)}
    print(json.dumps([closed, opened]))


def _connect_as(uid: int, port: int) -> str:
    """A child with that uid tries; its exit status tells."""
    pid = os.fork()
    if pid == 0:
        os.setresuid(uid, uid, uid)
        with socket.socket() as probe:
            probe.settimeout(3)
            os._exit(0 if probe.connect_ex(("127.0.0.1", port)) == 0 else 1)
    return "open" if os.waitpid(pid, 0)[1] == 0 else "refused"


if __name__ == "__main__":
    main()
