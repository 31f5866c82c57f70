"""What a forked child does to become the leader of a tree, in the one order that works (facts-box 1.3).

groups -> log -> close files -> mount namespace -> umask -> rlimits -> uid -> no new privileges -> environment.
Everything of root's is over before the uid changes; nothing of the person's runs before it has.
"""

from __future__ import annotations

import multiprocessing
import os
import pwd
import random
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from gearshift.model.launch import Person

from . import isolation, names, process_table, syscalls
from .keeper import Box
from .limits import choose_cores, set_oom_score, set_rlimits, thread_environment
from .people import LOWEST_UID
from .records import Record
from .request import Request

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def default_signals() -> None:
    """Undo what the parent set: a child must die from TERM and must be able to wait for its own children."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def check_person(person: Person) -> None:
    """Root never runs a person's code as root or as an account of the box; others only as themselves."""
    if os.geteuid() == 0 and min(person.uid, person.gid) < LOWEST_UID:
        raise PermissionError(f"uid {person.uid}: people have uids from {LOWEST_UID} on")
    if os.geteuid() != 0 and person.uid != os.geteuid():
        raise PermissionError(f"uid {person.uid}: without root all processes run as {os.geteuid()}")


def record_of(request: Request, box: Box) -> Record:
    """What is written down of the calling process as the leader of a tree."""
    own, keeper = process_table.read(os.getpid()), process_table.read(os.getppid())
    if own is None or keeper is None:
        raise ProcessLookupError("the keeper of this tree is gone")
    cores = request.limits.cores
    if not box.groups.controls("cpu") and not cores:
        cores = choose_cores(
            request.limits.cpus,
            [other.cores for other in box.records.open()],
            sorted(os.sched_getaffinity(0)),
        )
    return Record(
        tree=request.tree,
        pid=own.pid,
        start=own.start,
        keeper=keeper.pid,
        keeper_start=keeper.start,
        uid=request.person.uid,
        started_at=datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        boot=process_table.boot_id(),
        runtime_dir=request.runtime_dir,
        port=request.port,
        cores=cores,
        guarded_ports=tuple(request.guarded_ports),
        labels=request.labels,
    )


def become(request: Request, record: Record, box: Box, keep_open: int) -> None:
    """Turn the calling process into the tree's leader; only `keep_open` stays open beside 0, 1, 2."""
    root = os.geteuid() == 0
    box.groups.create(request.tree, request.limits, request.person.gid)
    box.groups.join(request.tree)
    _make_runtime_dir(request)
    _open_log(Path(request.log))
    close_all_but(keep_open)
    if box.private_view:
        keep = [Path(request.person.home), Path(sys.prefix), box.home.root]
        binds = [*names.binds(box.home), *request.binds]
        isolation.enter_private_view(keep, binds, request.limits.memory_bytes)
    os.umask(0o077)
    if record.cores:
        os.sched_setaffinity(0, record.cores)
    set_oom_score(request.role)
    set_rlimits(request.limits, bool(request.devices))
    if root:
        os.setgroups([request.person.gid])
        os.setresgid(*[request.person.gid] * 3)
        os.setresuid(*[request.person.uid] * 3)
    syscalls.forbid_new_privileges()
    _enter_environment(request)


def _make_runtime_dir(request: Request) -> None:
    """Kernel sockets lie in a 0700 folder of the tree's own, below a folder of root's: a frozen older tree of
    the same workspace keeps its sockets."""
    if not request.runtime_dir:
        return
    folder = Path(request.runtime_dir)
    for way in (folder.parent.parent, folder.parent):
        way.mkdir(exist_ok=True)
        way.chmod(0o711)
    folder.mkdir(mode=0o700)
    os.chown(folder, request.person.uid, request.person.gid)


def _open_log(path: Path) -> None:
    """0, 1 and 2: nothing to read, and a log that only the side that starts us can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    log = os.open(path, flags, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)


def close_all_but(kept: int) -> None:
    """Close all files but 0, 1, 2 and one more."""
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


def _enter_environment(request: Request) -> None:
    """The environment, whole: nothing of the parent's but what is needed to run at all."""
    person = request.person
    account = _account_name(person)
    own = {"HOME": person.home, "USER": account, "LOGNAME": account}
    own["GEARSHIFT_TREE"] = request.tree
    defaults = {"PATH": PATH, "SHELL": "/bin/bash", "LANG": "C.UTF-8", "CUDA_VISIBLE_DEVICES": ""}
    defaults["TORCHINDUCTOR_CACHE_DIR"] = f"{person.home}/.cache/torchinductor"
    defaults["TRITON_CACHE_DIR"] = f"{person.home}/.cache/triton"
    if request.devices:
        defaults["GEARSHIFT_DEVICES"] = ",".join(request.devices)
    if request.runtime_dir:
        own["JUPYTER_RUNTIME_DIR"] = request.runtime_dir
    os.environ.clear()
    os.environ.update({**defaults, **thread_environment(request.limits), **request.env, **own})
    os.chdir(request.cwd)


def _account_name(person: Person) -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return person.slug


def make_unlike_siblings() -> None:
    """What fork would leave equal in all children: random state and the key of multiprocessing's sockets."""
    random.seed()
    multiprocessing.current_process().authkey = os.urandom(32)
