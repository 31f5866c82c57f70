"""Run in a network namespace of its own: who reaches a port with and without an owner rule. Prints JSON."""

from __future__ import annotations

import json
import os
import socket
import subprocess

from gearshift_hub.backends.local import firewall
from gearshift_testing.box import TestBox, free_port, running_box, wait_until

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
    with running_box() as box:
        job = _job_with_a_private_port(box)
    print(json.dumps([closed, opened, job]))


def _job_with_a_private_port(box: TestBox) -> dict[str, str]:
    """Who reaches a job's port while it runs, and whether a rule is left afterwards."""
    owner, port = box.person("ann"), free_port()
    code = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); "
    code += "print('up', flush=True); time.sleep(600)"
    handle, log = box.run(owner, code, str(port), private_ports=[port])
    wait_until(lambda: "up" in log.read_text(), "the job listens")
    seen = {"owner": _connect_as(owner.uid, port), "other": _connect_as(owner.uid + 1, port)}
    box.trees.stop(handle.tree, 1.0)
    rules = subprocess.run(["iptables", "-S", "OUTPUT"], capture_output=True, text=True, check=True).stdout
    return seen | {"left": "rule" if str(port) in rules else "nothing"}


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
