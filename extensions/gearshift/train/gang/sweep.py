"""Ending a gang so that nothing of it is left: ask, wait for the grace, kill until no descendant exists."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

ROUND_SECONDS = 0.005
SPARING_SECONDS = 0.5


def ask(pids: Iterable[int]) -> None:
    """The polite stop: only the ranks themselves hear it, so that their workers live for a last checkpoint."""
    for pid in pids:
        _signal(pid, signal.SIGTERM)


def reap(ended: Callable[[int, int], None], halted: Callable[[int, bool], None] | None = None) -> bool:
    """Collect every child that has ended and report it; false when there are no children at all.

    `halted` is told of children that were stopped (SIGSTOP), and of those that went on.
    """
    changes = os.WNOHANG | (os.WUNTRACED | os.WCONTINUED if halted else 0)
    while True:
        try:
            pid, status = os.waitpid(-1, changes)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        if halted and (os.WIFSTOPPED(status) or os.WIFCONTINUED(status)):
            halted(pid, os.WIFSTOPPED(status))
        else:
            ended(pid, os.waitstatus_to_exitcode(status))


def kill_all(
    pid_namespace: bool,
    ended: Callable[[int, int], None],
    deadline_seconds: float = 10.0,
    spared: int | None = None,
) -> bool:
    """Kill every descendant, daemons included; true when none is left.

    Orphans come back to us (we are process 1 of the namespace, or a subreaper), so *no children* means
    *nothing left*. New ones may be forked while we look: hence the rounds. `spared` is a child that may live, as long
    as the others can be ended without it: what forks faster than we look is ended with all of the namespace.
    """
    deadline = time.monotonic() + deadline_seconds
    if spared is not None and _kill_others(spared, ended, time.monotonic() + SPARING_SECONDS):
        return True
    while time.monotonic() < deadline:
        if pid_namespace:
            _signal(-1, signal.SIGKILL)
        else:
            for pid in descendants(os.getpid()):
                _signal(pid, signal.SIGKILL)
        if not reap(ended):
            return True
        time.sleep(ROUND_SECONDS)
    return False


def _kill_others(spared: int, ended: Callable[[int, int], None], deadline: float) -> bool:
    while time.monotonic() < deadline:
        others = set(descendants(os.getpid())) - {spared}
        for pid in others:
            _signal(pid, signal.SIGKILL)
        reap(ended)
        if not others:
            return True
        time.sleep(ROUND_SECONDS)
    return False


def descendants(root: int) -> list[int]:
    """All processes below `root`, read from /proc."""
    return families([root])[root][1:]


def families(roots: Iterable[int]) -> dict[int, list[int]]:
    """Each root with all processes below it, read from /proc once."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents():
        children.setdefault(parent, []).append(pid)
    return {root: _below(root, children) for root in roots}


def _below(root: int, children: Mapping[int, list[int]]) -> list[int]:
    found, todo = [root], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def parents() -> Iterable[tuple[int, int]]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError, ValueError):
                text = (Path("/proc") / entry / "stat").read_text(errors="replace")
                yield int(entry), int(text.rpartition(")")[2].split()[1])


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
