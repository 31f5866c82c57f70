"""The processes a supervisor starts: one a rank, or one torchrun agent a node."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gearshift.train.gang import environment
from gearshift.train.gang.enclosure import die_with_parent
from gearshift.train.gang.nodes import Node
from gearshift.train.gang.order import Order
from gearshift.train.gang.warm import Template, Wanted

RUNNER = ("-P", "-m", "gearshift.train.runner")


@dataclass(frozen=True)
class Launch:
    """What all members of one attempt have in common."""

    order: Order
    attempt: int
    resume: str = ""
    nodes: Sequence[Node] = ()
    data_limit: int = resource.RLIM_INFINITY
    """What one member may allocate."""
    parent: int = 0
    """The process that members die with; 0 where a namespace sees to that."""
    template: Template | None = None
    """Forks ranks, where there is one."""

    def prepare(self, node: int) -> Callable[[], None]:
        """What a member does to itself before it becomes a rank."""

        def on_node() -> None:
            if self.nodes:
                self.nodes[node].enter()
            if self.parent:
                die_with_parent()
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (self.data_limit, hard))

        return on_node

    @property
    def folder(self) -> Path:
        return self.order.attempt_dir(self.attempt)


@dataclass
class Member:
    """A started process: its ranks, the pidfd that tells of its end, the pipes its metrics come through."""

    node: int
    ranks: tuple[int, ...]
    pid: int
    pidfd: int
    log: Path
    metrics: dict[int, int] = field(default_factory=dict)
    exit_code: int | None = None
    process: subprocess.Popen[bytes] | None = None
    halted_at: float | None = None
    """Since when it is stopped (SIGSTOP), by the monotonic clock."""

    @property
    def ended(self) -> bool:
        return self.exit_code is not None

    def end(self, code: int) -> None:
        self.exit_code = code
        if self.process is not None:
            self.process.returncode = code

    def close(self) -> None:
        for fd in (self.pidfd, *self.metrics.values()):
            os.close(fd)
        self.metrics = {}


def start_all(launch: Launch) -> list[Member]:
    """Start every member, or none: what was started before one failed is killed."""
    order = launch.order
    launch.folder.mkdir(parents=True, exist_ok=True)
    start = _start_agent if order.launch == "torchrun" else _start_rank
    indices = range(len(order.nodes) if order.launch == "torchrun" else order.world_size)
    members: list[Member] = []
    try:
        for index in indices:
            members.append(start(launch, index))
    except OSError:
        for member in members:
            os.kill(member.pid, 9)
        raise
    return members


def _start_rank(launch: Launch, rank: int) -> Member:
    order = launch.order
    node = rank // order.procs
    reader, writer = os.pipe()
    env = _common(launch, node) | environment.of_rank(order, rank, launch.attempt, writer)
    log = launch.folder / f"rank-{rank}.log"
    try:
        if (pid := _fork(launch, node, env, log, writer)) is not None:
            return _member(pid, node, (rank,), log, {rank: reader})
        process = _spawn(launch, node, [order.python, *RUNNER, *order.argv], env, log, (writer,))
    except OSError:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return _member(process.pid, node, (rank,), log, {rank: reader}, process)


def _start_agent(launch: Launch, node: int) -> Member:
    """torchrun closes inherited descriptors, so its ranks find their metrics pipe by name (`rank-N.fifo`)."""
    order = launch.order
    ranks = tuple(range(node * order.procs, (node + 1) * order.procs))
    argv = [
        *(order.python, "-P", "-m", "torch.distributed.run", "--nnodes", str(len(order.nodes))),
        *("--nproc-per-node", str(order.procs), "--node-rank", str(node), "--rdzv-backend", "static"),
        *("--master-addr", order.nodes[0].address, "--master-port", str(order.port)),
        *("--rdzv-id", f"{order.job}-{launch.attempt}", "--max-restarts", "0"),
        *("--log-dir", str(launch.folder / "torchrun"), "--no-python", order.python, *RUNNER, *order.argv),
    ]
    log = launch.folder / f"agent-{node}.log"
    pipes = {rank: _named_pipe(launch.folder / f"rank-{rank}.fifo") for rank in ranks}
    process = _spawn(launch, node, argv, _common(launch, node), log, ())
    return _member(process.pid, node, ranks, log, pipes, process)


def _common(launch: Launch, node: int) -> dict[str, str]:
    shared = environment.base(launch.order, dict(os.environ))
    own = environment.of_attempt(launch.order, launch.attempt, launch.resume)
    return shared | environment.of_node(launch.order, node) | own


def _named_pipe(path: Path) -> int:
    os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


def _fork(launch: Launch, node: int, env: dict[str, str], log: Path, metrics: int) -> int | None:
    """The same rank from the template; None where there is none, or it cannot."""
    if launch.template is None or not os.path.isdir(launch.order.cwd):
        return None
    output = _open_log(log)
    try:
        return launch.template.fork(
            Wanted(
                env=env,
                argv=launch.order.argv,
                cwd=launch.order.cwd,
                log=output,
                metrics=metrics,
                network=launch.nodes[node].namespace if launch.nodes else None,
                data_limit=launch.data_limit,
                parent=launch.parent,
            )
        )
    finally:
        os.close(output)


def _spawn(
    launch: Launch, node: int, argv: list[str], env: dict[str, str], log: Path, fds: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    output = _open_log(log)
    try:
        return subprocess.Popen(
            argv,
            env=env,
            cwd=launch.order.cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=fds,
            start_new_session=True,
            preexec_fn=launch.prepare(node),  # noqa: PLW1509 - this process has one thread
        )
    finally:
        os.close(output)


def _open_log(log: Path) -> int:
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _member(
    pid: int,
    node: int,
    ranks: tuple[int, ...],
    log: Path,
    metrics: dict[int, int],
    process: subprocess.Popen[bytes] | None = None,
) -> Member:
    for fd in metrics.values():
        os.set_blocking(fd, False)
    return Member(node, ranks, pid, os.pidfd_open(pid), log, metrics, process=process)
