"""Which failures an attempt shows: of its ranks, of torchrun's agents, of nodes, and of ranks that did not come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gearshift.train.gang import failure
from gearshift.train.gang.failure import Failure
from gearshift.train.gang.members import Member
from gearshift.train.gang.node_memory import Over
from gearshift.train.gang.nodes import Node
from gearshift.train.gang.order import Order


@dataclass(frozen=True)
class Scene:
    """One attempt as it stands when something went wrong."""

    order: Order
    attempt: int
    members: list[Member]
    seen_ns: Mapping[int, int]
    """When the end of a rank was seen."""
    sent: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    """Errors that ranks sent instead of writing them down."""

    def failed(self) -> list[Failure]:
        """Every rank that failed; where none says so, the agents that ended."""
        codes = self._codes_from_agents() if self.order.launch == "torchrun" else self._codes()
        found = [
            failure.of_rank(
                self.order.attempt_dir(self.attempt),
                rank,
                node,
                codes.get(rank),
                self.seen_ns.get(rank, failure.now_ns()),
                self.sent.get(rank),
            )
            for rank, node in self._ranks()
        ]
        return [one for one in found if one is not None] or self._agents()

    def absent(self, members: Iterable[Member], how: str) -> list[Failure]:
        """Ranks that others waited for, with the last they said (and where they stood, if they told)."""
        return [self._without_code(m.node, m.ranks[0], how.format(rank=m.ranks[0]), m) for m in members]

    def of_node(self, node: Node, how: str) -> Failure:
        members = [member for member in self.members if member.node == node.number]
        return self._without_code(node.number, members[0].ranks[0], how, members[0])

    def of_memory(self, found: Over, limit: int) -> Failure:
        member = found.member
        return self._without_code(member.node, member.ranks[0], found.sentence(limit), member)

    def not_joined(self, waiting: Mapping[int, str]) -> Failure:
        """The first node of which a rank did not reach its code in time, and how far that rank came."""
        rank, node = next((r, n) for r, n in self._ranks() if waiting.get(r, "?") != "")
        place, seconds = self.order.nodes[node], self.order.join_seconds
        step = waiting.get(rank, "its process did not begin")
        how = f"node {node} ({place.address}) did not join within {seconds:g} s: rank {rank}: {step}"
        return self._without_code(node, rank, how, next(m for m in self.members if rank in m.ranks))

    def _without_code(self, node: int, rank: int, message: str, member: Member) -> Failure:
        log = self.order.attempt_dir(self.attempt) / f"rank-{rank}.log"
        lines = failure.tail(log) or failure.tail(member.log)
        at = failure.now_ns()
        return Failure(rank, node, None, None, message, at, last_lines=lines, never_came=True)

    def _ranks(self) -> list[tuple[int, int]]:
        return [(rank, member.node) for member in self.members for rank in member.ranks]

    def _codes(self) -> dict[int, int]:
        return {rank: m.exit_code for m in self.members if m.exit_code is not None for rank in m.ranks}

    def _codes_from_agents(self) -> dict[int, int]:
        ended = sorted((m for m in self.members if m.exit_code), key=lambda m: self.seen_ns[m.ranks[0]])
        blamed = [cause for member in ended if (cause := failure.blamed_by_agent(member.log))]
        return dict(blamed[:1])

    def _agents(self) -> list[Failure]:
        """An agent died by itself: its node is named, with the agent's last lines."""
        return [
            Failure(
                rank=member.ranks[0],
                node=member.node,
                exit_code=member.exit_code if (member.exit_code or 0) > 0 else None,
                signal=-member.exit_code if (member.exit_code or 0) < 0 else None,
                message=f"the launcher of node {member.node} ended",
                at_ns=self.seen_ns[member.ranks[0]],
                last_lines=failure.tail(member.log),
            )
            for member in self.members
            if member.exit_code
        ]
