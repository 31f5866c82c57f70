"""One attempt: start every member, watch until all ended well or the first failed, then end all of it."""

from __future__ import annotations

import os
import resource
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass

from gearshift.train.gang import failure, memory_limit, sweep
from gearshift.train.gang.enclosure import Enclosure, die_with_parent
from gearshift.train.gang.endings import Ending, Reason, of_failure
from gearshift.train.gang.failure import Failure
from gearshift.train.gang.journal import Journal
from gearshift.train.gang.members import Launch, Member, start_all
from gearshift.train.gang.order import Order

SETTLE_SECONDS = 0.1
TICK_SECONDS = 1.0
FAILED_GRACE_SECONDS = 1.0


@dataclass
class Stop:
    """Set by the signal handlers; `wake` becomes readable with it."""

    wake: int
    asked: bool = False


class Attempt:
    """One try of the whole gang. Nothing of it lives when `run` returns."""

    def __init__(
        self, order: Order, number: int, journal: Journal, enclosure: Enclosure, stop: Stop, resume: str = ""
    ) -> None:
        self._order = order
        self._number = number
        self._journal = journal
        self._enclosure = enclosure
        self._stop = stop
        self._resume = resume
        self._members: list[Member] = []
        self._seen_ns: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()

    def run(self, deadline: float | None) -> Ending:
        before_exec = _before_exec(self._order, self._enclosure)
        kills_before = memory_limit.kills()
        self._members = start_all(Launch(self._order, self._number, self._resume, before_exec))
        self._register()
        self._journal.running(self._number, self._members)
        ending = self._watch(deadline, kills_before)
        self._finish(ending)
        return ending

    # -- watching -------------------------------------------------------------------------------

    def _register(self) -> None:
        self._selector.register(self._stop.wake, selectors.EVENT_READ)
        for member in self._members:
            self._selector.register(member.pidfd, selectors.EVENT_READ)
            for rank, fd in member.metrics.items():
                self._selector.register(fd, selectors.EVENT_READ, rank)

    def _watch(self, deadline: float | None, kills_before: int | None) -> Ending:
        while True:
            left = TICK_SECONDS if deadline is None else deadline - time.monotonic()
            self._turn(min(TICK_SECONDS, max(0.0, left)))
            if self._cancelled():
                return Ending(Reason.CANCELLED)
            if any(member.exit_code for member in self._members):
                return self._failed(kills_before)
            if all(member.ended for member in self._members):
                return Ending(Reason.SUCCEEDED)
            if deadline is not None and time.monotonic() >= deadline:
                return Ending(Reason.DEADLINE)

    def _turn(self, seconds: float) -> None:
        """Wait for the next event at most `seconds`, take what came, note who ended."""
        for key, _events in self._selector.select(seconds):
            if key.fd == self._stop.wake:
                os.read(key.fd, 4096)
            elif key.data is not None and not self._journal.metrics(key.fd, key.data, self._number):
                self._selector.unregister(key.fd)
        sweep.reap(self._ended)
        self._journal.beat()

    def _ended(self, pid: int, code: int) -> None:
        for member in self._members:
            if member.pid == pid and not member.ended:
                member.end(code)
                self._selector.unregister(member.pidfd)
                for rank in member.ranks:
                    self._seen_ns[rank] = failure.now_ns()

    def _cancelled(self) -> bool:
        return self._stop.asked or self._order.cancel_mark.exists()

    # -- deciding -------------------------------------------------------------------------------

    def _failed(self, kills_before: int | None) -> Ending:
        """Let what happened at the same moment arrive, then blame the earliest."""
        until = time.monotonic() + SETTLE_SECONDS
        while (left := until - time.monotonic()) > 0:
            self._turn(left)
        if self._cancelled():
            return Ending(Reason.CANCELLED)
        found = failure.first(self._failures())
        if found is None:
            return Ending(Reason.START_FAILED)
        kills_now = memory_limit.kills()
        return of_failure(found, killed_by_limit=(kills_now or 0) > (kills_before or 0))

    def _failures(self) -> list[Failure]:
        by_agent = self._order.launch == "torchrun"
        codes = self._codes_from_agents() if by_agent else self._codes()
        folder = self._order.attempt_dir(self._number)
        found = [
            failure.of_rank(folder, rank, node, codes.get(rank), self._seen_ns.get(rank, failure.now_ns()))
            for rank, node in self._ranks()
        ]
        return [one for one in found if one is not None] or self._agent_failures()

    def _ranks(self) -> list[tuple[int, int]]:
        return [(rank, member.node) for member in self._members for rank in member.ranks]

    def _codes(self) -> dict[int, int]:
        return {rank: m.exit_code for m in self._members if m.exit_code is not None for rank in m.ranks}

    def _codes_from_agents(self) -> dict[int, int]:
        ended = sorted((m for m in self._members if m.exit_code), key=lambda m: self._seen_ns[m.ranks[0]])
        blamed = [cause for member in ended if (cause := failure.blamed_by_agent(member.log))]
        return dict(blamed[:1])

    def _agent_failures(self) -> list[Failure]:
        """An agent died by itself: its node is named, with the agent's last lines."""
        return [
            Failure(
                rank=member.ranks[0],
                node=member.node,
                exit_code=member.exit_code if (member.exit_code or 0) > 0 else None,
                signal=-member.exit_code if (member.exit_code or 0) < 0 else None,
                message=f"the launcher of node {member.node} ended",
                at_ns=self._seen_ns[member.ranks[0]],
                last_lines=failure.tail(member.log),
            )
            for member in self._members
            if member.exit_code
        ]

    # -- ending ---------------------------------------------------------------------------------

    def _finish(self, ending: Ending) -> None:
        grace = self._order.grace_seconds if ending.failure is None else FAILED_GRACE_SECONDS
        if ending.reason is not Reason.SUCCEEDED:
            self._journal.say(state="stopping", ranks=self._journal.ranks(self._members))
            self._wait_politely(grace)
        sweep.kill_all(self._enclosure.pid_namespace, self._ended)
        self._drain()
        self._journal.say(ranks=self._journal.ranks(self._members))

    def _wait_politely(self, grace: float) -> None:
        alive = [member for member in self._members if not member.ended]
        sweep.ask(member.pid for member in alive)
        until = time.monotonic() + grace
        while any(not member.ended for member in alive) and (left := until - time.monotonic()) > 0:
            self._turn(min(left, TICK_SECONDS))

    def _drain(self) -> None:
        """Take the last metrics, then let go of every descriptor."""
        for member in self._members:
            for rank, fd in member.metrics.items():
                self._read_out(fd, rank)
            member.close()
        self._journal.forget_pipes()
        self._selector.close()

    def _read_out(self, fd: int, rank: int) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(fd, selectors.EVENT_READ)
            while waiting.select(0) and self._journal.metrics(fd, rank, self._number):
                pass


def _before_exec(order: Order, enclosure: Enclosure) -> Callable[[], None]:
    """What a member does to itself before it becomes a rank.

    Drivers of real cards reserve address space beyond any limit, and DeepSpeed buckets that it never fills (2 GB by
    default): there the control group alone keeps the limit.
    """
    reserves = order.launch == "deepspeed" or any(place.cuda for place in order.nodes)
    limit = None if reserves else order.memory_bytes

    def prepare() -> None:
        if not enclosure.pid_namespace:
            die_with_parent()
        if limit is not None:
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))

    return prepare
