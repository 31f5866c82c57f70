"""Loopback ports that only one uid may reach, since every process of a box shares 127.0.0.1 (facts-box 3).

torch's rendezvous asks nobody for a password. An owner rule refuses connections of all other uids, root too.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

TIMEOUT_SECONDS = 10
TOOLS = ("iptables", "ip6tables")


class FirewallUnusable(Exception):
    """The box does not let us set owner rules; the text says why."""


def close_ports(uid: int, ports: Sequence[int]) -> None:
    """Refuse new loopback connections to these TCP ports from every uid but this one. Raises FirewallUnusable."""
    tools = _tools()
    if TOOLS[0] not in tools:
        raise FirewallUnusable("iptables is not installed")
    for tool in tools:
        for port in ports:
            if _run(tool, "-C", *_rule(uid, port)).returncode != 0:
                done = _run(tool, "-I", *_rule(uid, port))
                if done.returncode != 0:
                    raise FirewallUnusable(_reason(done))


def open_ports(uid: int, ports: Sequence[int]) -> None:
    """Take the rules away again; rules that are not there are no fault."""
    for tool in _tools():
        for port in ports:
            _run(tool, "-D", *_rule(uid, port))


def _rule(uid: int, port: int) -> list[str]:
    where = ["OUTPUT", "-o", "lo", "-p", "tcp", "--syn", "--dport", str(port)]
    return [*where, "-m", "owner", "!", "--uid-owner", str(uid), "-j", "REJECT", "--reject-with", "tcp-reset"]


def _tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool)]


def _run(tool: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [tool, "-w", "5", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[0] if lines else f"iptables ended with status {done.returncode}"
