"""Tries, in a process of their own, of what would change the process that tries. Used by capabilities.py.

`python -m gearshift_hub.backends.local.probes NAME` ends with 0, or prints why it cannot be done.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from . import firewall, isolation, syscalls

NOBODY = 65534
TIMEOUT_SECONDS = 30


def why_not(name: str) -> str | None:
    """None when the try went well, else the kernel's words."""
    command = [sys.executable, "-m", __spec__.name, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return lines[-1] if lines else f"status {done.returncode}"


def mount_namespace() -> None:
    """A tree's private view."""
    isolation.enter_private_view([], [], None)


def other_uid() -> None:
    """Becoming somebody else."""
    os.setgroups([NOBODY])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def owner_rule() -> None:
    """A real owner rule, in a network namespace where it harms nobody."""
    syscalls.unshare(syscalls.CLONE_NEWNET)
    firewall.close_ports(NOBODY, [9])


PROBES: dict[str, Callable[[], None]] = {
    "mount_namespace": mount_namespace,
    "other_uid": other_uid,
    "owner_rule": owner_rule,
}


def main() -> int:
    try:
        PROBES[sys.argv[1]]()
    except (OSError, firewall.FirewallUnusable) as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
