"""One attempt: start every member, watch until all ended well or something went wrong, then end all of it.

What goes wrong is seen within stated bounds: a rank or node that ends at once, a halted rank after `halted_seconds`,
a cut cable after `cut_seconds`, a rank that others wait for after the group timeout and ANSWER_SECONDS, a node that
uses more memory than it has within a turn and `node_memory.EVERY_SECONDS`.
"""

from __future__ import annotations

import os
import resource
import selectors
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from gearshift.train.gang import failure, hosts, memory_limit, node_memory, sweep
from gearshift.train.gang.blame import Scene
from gearshift.train.gang.enclosure import Enclosure
from gearshift.train.gang.endings import Ending, Reason, of_failure
from gearshift.train.gang.journal import Journal
from gearshift.train.gang.log_limit import LogLimit
from gearshift.train.gang.members import Launch, Member, start_all
from gearshift.train.gang.nodes import Nodes
from gearshift.train.gang.order import Order
from gearshift.train.gang.warm import Template

SETTLE_SECONDS = 0.1
TICK_SECONDS = 1.0
FAILED_GRACE_SECONDS = 1.0
ANSWER_SECONDS = 2.0
"""When one rank got no answer, the others have so long to say the same; who says nothing is the one that hangs."""
STACK_SECONDS = 0.3


@dataclass
class Stop:
    """Set by the signal handlers; `wake` becomes readable with it."""

    wake: int
    asked: bool = False

    def hear(self) -> None:
        """Take what made `wake` readable."""
        os.read(self.wake, 4096)


class Attempt:
    """One try of the whole gang. Nothing of it lives when `run` returns."""

    def __init__(
        self,
        order: Order,
        number: int,
        journal: Journal,
        enclosure: Enclosure,
        stop: Stop,
        resume: str = "",
        template: Template | None = None,
    ) -> None:
        self._number = number
        self._journal = journal
        self._enclosure = enclosure
        self._stop = stop
        self._resume = resume
        self._template = template
        self._nodes = Nodes(order, number, enclosure)
        self._order = self._nodes.order
        hosts.write(self._order)
        self._members: list[Member] = []
        self._seen_ns: dict[int, int] = {}
        self._gone: set[int] = set()
        self._joined = False
        self._weigh_at = 0.0
        self._selector = selectors.DefaultSelector()
        self._logs = LogLimit(order.attempt_dir(number), order.log_bytes)

    def run(self, deadline: float | None) -> Ending:
        kills_before = memory_limit.kills()
        launch = Launch(
            self._order,
            self._number,
            self._resume,
            self._nodes.all,
            _data_limit(self._order),
            0 if self._enclosure.pid_namespace else os.getpid(),
            self._template,
        )
        join_by = time.monotonic() + self._order.join_seconds
        self._members = start_all(launch)
        if self._template is not None and not self._order.may_go_on:
            self._template.close()
        self._register()
        self._journal.say(ranks=self._journal.ranks(self._members))
        ending = self._watch(deadline, join_by, kills_before)
        self._finish(ending)
        return ending

    # -- watching -------------------------------------------------------------------------------

    def _register(self) -> None:
        self._selector.register(self._stop.wake, selectors.EVENT_READ)
        for fd in self._nodes.descriptors():
            self._selector.register(fd, selectors.EVENT_READ)
        for member in self._members:
            self._selector.register(member.pidfd, selectors.EVENT_READ)
            for rank, fd in member.metrics.items():
                self._selector.register(fd, selectors.EVENT_READ, rank)

    def _watch(self, deadline: float | None, join_by: float, kills_before: int | None) -> Ending:
        while True:
            left = TICK_SECONDS if deadline is None else deadline - time.monotonic()
            self._turn(min(TICK_SECONDS, max(0.0, left)))
            self._see_joined()
            if any(member.exit_code for member in self._members):
                self._settle(SETTLE_SECONDS)
            over = self._asked() or self._node_lost() or self._ranks_over(kills_before)
            over = over or self._too_much_memory() or self._too_long(deadline, join_by)
            if over is not None:
                return over

    def _ranks_over(self, kills_before: int | None) -> Ending | None:
        if any(member.exit_code for member in self._members):
            return self._failed(kills_before)
        return Ending(Reason.SUCCEEDED) if all(member.ended for member in self._members) else None

    def _too_long(self, deadline: float | None, join_by: float) -> Ending | None:
        now, bound = time.monotonic(), self._order.halted_seconds
        if halted := self._halted(bound):
            how = f"rank {{rank}} was stopped and did not go on for {bound:g} s"
            return Ending(Reason.NO_ANSWER, failure.first(self._scene().absent(halted, how)))
        if deadline is not None and now >= deadline:
            return Ending(Reason.DEADLINE)
        if not self._joined and now >= join_by:
            return Ending(Reason.DID_NOT_JOIN, self._scene().not_joined(self._journal.waiting))
        return None

    def _turn(self, seconds: float) -> None:
        """Wait for the next event at most `seconds`, take what came, note who ended."""
        for key, _events in self._selector.select(seconds):
            if key.fd == self._stop.wake:
                self._stop.hear()
            elif key.data is not None and not self._journal.metrics(key.fd, key.data, self._number):
                self._selector.unregister(key.fd)
        self._nodes.heard()
        sweep.reap(self._ended, self._was_halted)
        self._journal.beat()
        self._logs.keep()

    def _ended(self, pid: int, code: int) -> None:
        for node in self._nodes.all:
            if node.pid == pid and pid not in self._gone:
                self._selector.unregister(node.pidfd)
                self._gone.add(pid)
                self._switch_off(node.number)
        for member in self._members:
            if member.pid == pid and not member.ended:
                member.end(code)
                self._selector.unregister(member.pidfd)
                for rank in member.ranks:
                    self._seen_ns[rank] = failure.now_ns()

    def _switch_off(self, node: int) -> None:
        """A machine that is gone takes along what ran on it."""
        for member in self._members:
            if member.node == node and not member.ended:
                with suppress(ProcessLookupError):
                    os.kill(member.pid, signal.SIGKILL)

    def _was_halted(self, pid: int, halted: bool) -> None:
        for member in self._members:
            if member.pid == pid:
                member.halted_at = time.monotonic() if halted else None

    def _halted(self, seconds: float) -> list[Member]:
        past = time.monotonic() - seconds
        return [m for m in self._members if not m.ended and m.halted_at is not None and m.halted_at <= past]

    def _see_joined(self) -> None:
        """Running means that every rank has reached its code."""
        waiting = self._journal.waiting
        if not self._joined and all(waiting.get(rank) == "" for m in self._members for rank in m.ranks):
            self._joined = True
            self._journal.running(self._number, self._members)

    def _asked(self) -> Ending | None:
        """Control or a signal wants it ended: for good, or because the machine goes away."""
        if self._order.cancel_mark.exists():
            return Ending(Reason.CANCELLED)
        if self._order.notice_mark.exists():
            return Ending(Reason.INTERRUPTED)
        return Ending(Reason.CANCELLED) if self._stop.asked else None

    def _node_lost(self) -> Ending | None:
        lost = self._nodes.lost(self._gone)
        return None if lost is None else Ending(Reason.NODE_LOST, self._scene().of_node(*lost))

    def _too_much_memory(self) -> Ending | None:
        """A node that takes what is another's; one alone is held by the gang's own limit."""
        limit, now = self._order.memory_bytes, time.monotonic()
        if limit is None or len(self._order.nodes) == 1 or now < self._weigh_at:
            return None
        self._weigh_at = now + node_memory.EVERY_SECONDS
        found = node_memory.over(self._members, limit)
        return None if found is None else Ending(Reason.OOM, self._scene().of_memory(found, limit))

    # -- deciding -------------------------------------------------------------------------------

    def _failed(self, kills_before: int | None) -> Ending:
        """Blame the earliest; what happened at the same moment has arrived."""
        found = failure.first(self._scene().failed())
        if found is None:
            return Ending(Reason.START_FAILED)
        if found.waited_in_vain:
            found = self._who_did_not_answer() or found
        kills_now = memory_limit.kills()
        return of_failure(found, killed_by_limit=(kills_now or 0) > (kills_before or 0))

    def _who_did_not_answer(self) -> failure.Failure | None:
        """Ranks that say nothing while all others got no answer; they are asked where they stand."""
        if halted := self._halted(0.0):
            return failure.first(
                self._scene().absent(halted, "rank {rank} was stopped: the others waited for it")
            )
        self._settle(ANSWER_SECONDS)
        silent = [member for member in self._members if not member.ended]
        if self._order.launch == "torchrun" or not silent:
            return None
        for member in silent:
            with suppress(ProcessLookupError):
                os.kill(member.pid, signal.SIGUSR2)
        self._settle(STACK_SECONDS)
        how = "rank {rank} hangs: the others waited for it in a collective; where it stood is in its log"
        return failure.first(self._scene().absent(silent, how))

    def _settle(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._turn(left)

    def _scene(self) -> Scene:
        return Scene(self._order, self._number, self._members, self._seen_ns, self._journal.errors)

    # -- ending ---------------------------------------------------------------------------------

    def _finish(self, ending: Ending) -> None:
        grace = self._order.grace_seconds if ending.failure is None else FAILED_GRACE_SECONDS
        if ending.reason is not Reason.SUCCEEDED:
            self._journal.say(state="stopping", ranks=self._journal.ranks(self._members))
            self._wait_politely(grace)
        spared = None if self._template is None else self._template.pid
        sweep.kill_all(self._enclosure.pid_namespace, self._ended, spared=spared)
        self._drain()
        self._logs.keep(last=True)
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
        self._nodes.close()
        self._journal.forget_attempt()
        self._selector.close()

    def _read_out(self, fd: int, rank: int) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(fd, selectors.EVENT_READ)
            while waiting.select(0) and self._journal.metrics(fd, rank, self._number):
                pass


def _data_limit(order: Order) -> int:
    """What one rank may allocate (a soft limit; -1 is none).

    Drivers of real cards reserve address space beyond any limit, and DeepSpeed buckets that it never fills (2 GB by
    default): there the control group alone keeps the limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if order.memory_bytes is None or order.launch == "deepspeed" or any(place.cuda for place in order.nodes):
        return soft
    return order.memory_bytes if hard == resource.RLIM_INFINITY else min(order.memory_bytes, hard)
