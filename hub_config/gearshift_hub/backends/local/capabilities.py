"""What this box lets us do, found out by doing it; each thing missing comes with a sentence that says why."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from . import names, probes
from .cgroups import Groups, Hierarchies
from .limits import Limits

MIB = 1 << 20
_ROOT_ONLY = "Gearshift does not run as root"


@dataclass(frozen=True)
class Capabilities:
    """True is tried and works; for each False there is a reason."""

    root: bool
    uid_per_person: bool
    mount_namespace: bool
    cgroup_kill: bool
    freeze: bool
    cgroup_memory: bool
    cgroup_cpu: bool
    cgroup_pids: bool
    owner_firewall: bool
    system_names: bool
    """Names of people's uids are known to the whole box (libnss-extrausers), not only in their workspaces."""
    reasons: dict[str, str] = field(default_factory=dict)

    def not_enforced(self) -> list[str]:
        """What follows from the missing ones, a sentence each, for `doctor` and the console."""
        return [
            f"{text} ({self.reasons[name]})" for name, text in _CONSEQUENCES.items() if name in self.reasons
        ]


_CONSEQUENCES = {
    "uid_per_person": "All processes run as one user: people are not isolated from one another",
    "mount_namespace": "Workspaces share /tmp and see the process list of the box",
    "cgroup_kill": "A stopped workspace is ended by searching for its processes, not by the kernel at once",
    "freeze": "A failed switch goes back to what was saved, not to the frozen workspace",
    "cgroup_memory": "The memory limit holds for each process, not for the sum of a workspace",
    "cgroup_cpu": "CPU is limited to whole cores by affinity, which a process may change itself",
    "cgroup_pids": "The number of processes of a workspace is not limited",
    "owner_firewall": "Ports of jobs on 127.0.0.1 are open to everybody on this box; jobs meet in a private "
    "folder instead",
}


def probe() -> Capabilities:
    """Try everything; takes about 0.3 s."""
    root = os.geteuid() == 0
    reasons: dict[str, str] = {}
    if not root:
        reasons["root"] = f"running as uid {os.geteuid()}"
    for name, tried in (
        ("uid_per_person", "other_uid"),
        ("mount_namespace", "mount_namespace"),
        ("owner_firewall", "owner_rule"),
    ):
        reason = probes.why_not(tried) if root else _ROOT_ONLY
        if reason:
            reasons[name] = reason
    if not names.extrausers_is_on():
        reasons["system_names"] = "libnss-extrausers is not installed or not named in /etc/nsswitch.conf"
    reasons |= _group_reasons(Groups(f"gearshift-probe-{os.getpid()}"))
    found = {name: name not in reasons for name in Capabilities.__dataclass_fields__ if name != "reasons"}
    return Capabilities(**found, reasons=reasons)


def _group_reasons(groups: Groups) -> dict[str, str]:
    """Make a group with limits and a process in it, freeze it, kill it."""
    names_of_all = ("cgroup_kill", "freeze", "cgroup_memory", "cgroup_cpu", "cgroup_pids")
    if not groups.where.roots():
        there = Hierarchies.of_this_box().roots()
        why = f"{there[0]} is not writable" if there else "no cgroup file system is mounted"
        return dict.fromkeys(names_of_all, why)
    try:
        groups.create("try", Limits())
    except OSError as error:
        return dict.fromkeys(names_of_all, f"{error.strerror}: {error.filename or 'cgroup'}")
    try:
        reasons = _controller_reasons(groups) | _tree_reasons(groups)
    finally:
        groups.kill("try")
        groups.remove("try")
        groups.remove_all()
    return reasons


def _controller_reasons(groups: Groups) -> dict[str, str]:
    reasons = {}
    for name, controller, limits in (
        ("cgroup_memory", "memory", Limits(memory_bytes=64 * MIB)),
        ("cgroup_cpu", "cpu", Limits(cpus=0.5)),
        ("cgroup_pids", "pids", Limits(pids=32)),
    ):
        if not groups.controls(controller):
            reasons[name] = f"the kernel gives the {controller} controller to no group below ours"
            continue
        reason = _why(lambda limits=limits: groups.limit("try", limits))  # type: ignore[misc]
        if reason:
            reasons[name] = reason
    return reasons


def _tree_reasons(groups: Groups) -> dict[str, str]:
    reasons = {}
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            reason = _why(lambda: groups.join("try", process.pid))
            if reason or not groups.freeze("try"):
                reasons["freeze"] = reason or "the kernel has no cgroup.freeze here (a v2 tree is needed)"
            if reason or not groups.kill("try"):
                reasons["cgroup_kill"] = reason or "the kernel has no cgroup.kill (Linux 5.14, a v2 tree)"
        finally:
            process.kill()
    return reasons


def _why(act: Callable[[], object]) -> str | None:
    try:
        act()
    except OSError as error:
        return error.strerror or str(error)
    return None
