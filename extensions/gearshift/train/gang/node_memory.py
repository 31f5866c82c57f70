"""What the ranks of a node use of its memory, with all they started, held to what the node has.

On one box nodes are process groups: nothing but the gang's own limit, which all nodes share, keeps one from taking
what is another's. So it is measured. Anonymous and shared memory count, pages of files do not: those can be dropped.
A daemon that left its rank counts for no node; the gang's limit holds it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gearshift.train.gang import sweep
from gearshift.train.gang.members import Member

PROC = Path("/proc")
EVERY_SECONDS = 1.0
KIB = 1024


@dataclass(frozen=True)
class Over:
    """A node that uses more than it has, and the rank on it that uses most."""

    node: int
    member: Member
    node_bytes: int
    member_bytes: int

    def sentence(self, limit: int) -> str:
        used, has, most = (f"{size / 1e9:.2f}" for size in (self.node_bytes, limit, self.member_bytes))
        return f"node {self.node} used {used} GB of its {has} GB of memory; rank {self.member.ranks[0]} the most, {most} GB"


def over(members: Iterable[Member], limit: int) -> Over | None:
    """The first node above its limit. Looked at twice: what seems too much is counted again, shared pages once."""
    alive = [member for member in members if not member.ended]
    below = sweep.families([member.pid for member in alive])
    for node in sorted({member.node for member in alive}):
        own = [member for member in alive if member.node == node]
        if sum(_at_most(pid) for member in own for pid in below[member.pid]) <= limit:
            continue
        each = {member.pid: sum(_exactly(pid) for pid in below[member.pid]) for member in own}
        if (used := sum(each.values())) > limit:
            most = max(own, key=lambda member: each[member.pid])
            return Over(node, most, used, each[most.pid])
    return None


def _at_most(pid: int) -> int:
    """Quick; a page that several processes share is counted for each of them."""
    said = _fields(PROC / str(pid) / "status")
    return said.get("RssAnon", 0) + said.get("RssShmem", 0)


def _exactly(pid: int) -> int:
    """Each process's part of what is shared; slower, since the kernel walks its pages."""
    said = _fields(PROC / str(pid) / "smaps_rollup")
    if "Pss_Anon" in said:
        return said["Pss_Anon"] + said.get("Pss_Shmem", 0)
    return _fields(PROC / str(pid) / "status").get("RssAnon", 0)


def _fields(path: Path) -> Mapping[str, int]:
    """`Name:   12 kB` lines as bytes; nothing of a process that has gone."""
    found: dict[str, int] = {}
    with suppress(OSError):
        for line in os.fsdecode(path.read_bytes()).splitlines():
            name, _, value = line.partition(":")
            if value.endswith(" kB"):
                found[name] = int(value.split()[0]) * KIB
    return found
