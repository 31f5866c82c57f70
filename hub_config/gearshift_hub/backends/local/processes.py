"""Trees: the processes of workspaces and jobs on this box, seen from outside (the spawner, the job backend).

A start goes through the fork server; everything else is read from and done to groups, /proc and the records, so
it works while the fork server restarts.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gearshift.model.launch import LaunchPlan, Person, ProcessLimits

from gearshift_hub.paths import Home

from . import firewall, keeper, process_table, request, resizing
from .isolation import Bind
from .keeper import Box
from .limits import Limits
from .records import check_name
from .request import Request, StartRefused

__all__ = ["Handle", "PortsStayOpen", "StartRefused", "TreeInfo", "Trees", "Usage"]


class PortsStayOpen(Exception):
    """Other people of this box could reach a port that must be private; the text says why."""


@dataclass(frozen=True)
class Handle:
    """A tree that was started."""

    tree: str
    pid: int
    started_at: str


@dataclass(frozen=True)
class TreeInfo:
    """A tree that runs."""

    name: str
    pids: tuple[int, ...]
    frozen: bool
    labels: dict[str, str]


@dataclass(frozen=True)
class Usage:
    """What a tree uses and has used; None is unknown."""

    memory_bytes: int | None
    cpu_seconds: float | None
    peak_bytes: int | None
    pids: int


class Trees:
    """All trees of one deployment. Calls are synchronous and fast, except `stop`, which waits."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._box = Box.of(home)

    # -- start -----------------------------------------------------------------------------------------

    def start_server(
        self,
        plan: LaunchPlan,
        env: Mapping[str, str],
        argv: Sequence[str],
        port: int,
        private_ports: Sequence[int] = (),
    ) -> Handle:
        """Start a single-user server as plan.person, by a fork of the warm process.

        Returns once the process has become that person's, 0.03 s; it answers on `port` 0.2-0.3 s later.
        Raises StartRefused, OSError where no fork server answers, and PortsStayOpen where `private_ports` would be
        open to other people of the box.
        """
        person = plan.person
        guarded = self._closed(person, private_ports)
        wanted = Request(
            kind="server",
            tree=plan.tree,
            person=person,
            argv=list(argv),
            env={**plan.env, **env},
            cwd=person.home,
            log=str(self.log_path(plan.tree)),
            role="server",
            limits=_limits(plan.limits),
            devices=list(plan.devices),
            binds=[Bind(str(m.source), str(m.target), m.read_only) for m in plan.mounts],
            runtime_dir=self.runtime_dir(plan),
            port=port,
            guarded_ports=guarded,
            labels=dict(plan.labels),
        )
        return self._start(wanted)

    def start_command(
        self,
        *,
        tree: str,
        person: Person,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | str,
        limits: Limits | ProcessLimits,
        log: Path,
        devices: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        binds: Sequence[Bind] = (),
        private_ports: Sequence[int] = (),
    ) -> Handle:
        """Start a command in a tree of its own. `private_ports` are closed to other uids while it runs, where
        the box can do that (capabilities: owner_firewall)."""
        guarded = self._guard(person, private_ports)
        wanted = Request(
            kind="command",
            tree=tree,
            person=person,
            argv=list(argv),
            env=dict(env),
            cwd=str(cwd),
            log=str(log),
            role="job",
            limits=_limits(limits),
            devices=list(devices),
            binds=list(binds),
            guarded_ports=guarded,
            labels=dict(labels or {}),
        )
        return self._start(wanted)

    def runtime_dir(self, plan: LaunchPlan) -> str:
        """Below the workspace's runtime folder a folder of the tree's own, so that a frozen older tree keeps
        its sockets; the server finds it in JUPYTER_RUNTIME_DIR."""
        if not plan.runtime_dir:
            return ""
        return f"{plan.runtime_dir}/{hashlib.sha256(plan.tree.encode()).hexdigest()[:6]}"

    def log_path(self, tree: str) -> Path:
        """Where a server's output goes."""
        return self._home.logs / "workspaces" / f"{tree}.log"

    # -- look ------------------------------------------------------------------------------------------

    def alive(self, tree: str) -> bool:
        """Whether the tree's leading process runs."""
        record = self._box.records.get(tree)
        return record is not None and record.leads

    def exit_code(self, tree: str) -> int | None:
        """The leader's exit code, negative for a signal; None while it runs, and where it is unknown.

        When the leader has just ended, this waits the moment until its keeper has cleaned up.
        """
        record = self._box.records.get(tree)
        if record is None or record.leads:
            return None
        if record.is_kept:
            process_table.wait_for_end(record.keeper, record.keeper_start, keeper.CLEAN_SECONDS)
        return self._box.records.exit_code(tree)

    def trees(self) -> list[TreeInfo]:
        """All trees in which something runs."""
        found = []
        for record in self._box.records.open():
            pids = keeper.members(self._box.groups, record)
            if pids:
                frozen = self._box.groups.frozen(record.tree)
                found.append(TreeInfo(record.tree, tuple(pids), frozen, record.labels))
        return found

    def frozen(self, tree: str) -> bool:
        return self._box.groups.frozen(tree)

    def usage(self, tree: str) -> Usage:
        record = self._box.records.get(tree)
        pids = [] if record is None else keeper.members(self._box.groups, record)
        use = self._box.groups.use(tree)
        memory, cpu = use.memory_bytes, use.cpu_seconds
        if memory is None and pids:
            memory = sum(process_table.proportional_bytes(pid) for pid in pids)
        if cpu is None and pids:
            cpu = process_table.cpu_seconds(pids)
        return Usage(memory, cpu, use.peak_bytes, len(pids))

    # -- change ----------------------------------------------------------------------------------------

    def stop(self, tree: str, grace_s: float) -> None:
        """TERM to the leader, wait, kill all of it. Returns when nothing is left; a gone tree is no error.

        A frozen tree cannot act on a TERM: it is killed at once.
        """
        record = self._box.records.get(tree)
        if record is not None and record.leads and not self.frozen(tree):
            process_table.send(record.pid, record.start, signal.SIGTERM)
            process_table.wait_for_end(record.pid, record.start, grace_s)
        self.kill(tree)

    def kill(self, tree: str) -> None:
        """Kill all of it, frozen or not; returns when nothing is left."""
        record = self._box.records.get(tree)
        if record is not None and not (self._box.records.ended(tree) and not record.is_kept):
            keeper.end_tree(self._box, record)

    def freeze(self, tree: str) -> bool:
        """Make all of it stand still, with memory, sockets and files as they are. False: not possible here."""
        return self._box.groups.freeze(tree)

    def thaw(self, tree: str) -> bool:
        return self._box.groups.thaw(tree)

    def resize(self, tree: str, limits: Limits | ProcessLimits) -> None:
        """Put other limits in force for a running tree, at once; MemoryInUseError where it uses more memory."""
        resizing.resize(self._box, tree, _limits(limits), self.usage(tree).memory_bytes)

    def relabel(self, tree: str, labels: Mapping[str, str]) -> None:
        """Say anew what a tree is for; a gone tree is no error."""
        record = self._box.records.get(tree)
        if record is not None:
            self._box.records.change(replace(record, labels=dict(labels)))

    # -- the fork server -------------------------------------------------------------------------------

    def _start(self, wanted: Request) -> Handle:
        check_name(wanted.tree)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as connection:
            connection.settimeout(request.TIMEOUT_SECONDS)
            with request.socket_address(self._home.forkserver_socket) as address:
                connection.connect(address)
            request.send_request(connection, wanted)
            started = request.receive_answer(connection)
        return Handle(wanted.tree, started.pid, started.started_at)

    def _closed(self, person: Person, ports: Sequence[int]) -> list[int]:
        """Close the ports to all others; a box that runs everything as one uid has no others."""
        if not ports or person.uid == os.geteuid():
            return []
        try:
            firewall.close_ports(person.uid, ports)
        except firewall.FirewallUnusable as unusable:
            raise PortsStayOpen(str(unusable)) from unusable
        return list(ports)

    def _guard(self, person: Person, ports: Sequence[int]) -> list[int]:
        """Close the ports where the box can; jobs that cannot have that meet in a 0700 folder instead."""
        with suppress(PortsStayOpen):
            return self._closed(person, ports)
        return []


def _limits(given: Limits | ProcessLimits) -> Limits:
    if isinstance(given, Limits):
        return given
    return Limits(given.memory_bytes, given.cpus, given.pids, given.threads)
