"""The fork server: a warm process that starts workspaces and jobs by forking, and never reads a request.

A request holds a person's token. The parent only accepts the connection; the child made for it reads it. So no
child can find another person's token in memory it inherited (facts-box 1.2). For each tree two processes are
forked: a keeper (keeper.py), and the leader, which turns into the server or executes the command.
"""

from __future__ import annotations

import argparse
import fcntl
import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from gearshift_hub.paths import Home

from . import become, keeper, probes, request, syscalls, warm
from .keeper import Box
from .records import Record, TreeExists

log = logging.getLogger("gearshift.forkserver")

BACKLOG = 128
ENVIRONMENT = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "XDG_RUNTIME_DIR"}  # LC_CTYPE: Python sets it by itself
LOCK_NAME = "forkserver.lock"


class EndAsked(Exception):
    """SIGTERM arrived."""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gearshift-forkserver", description="Starts workspaces and jobs.")
    parser.add_argument("--home", type=Path, required=True, help="the deployment's folder (GEARSHIFT_HOME)")
    home = Home(parser.parse_args(argv).home)
    _drop_environment()
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    log.setLevel(logging.INFO)
    _forget_own_surroundings()
    box = Box.of(home)
    box.records.prepare()
    lock = _lock(home)
    if lock is None:
        log.error("another fork server serves %s", home.root)
        return 3
    signal.signal(signal.SIGTERM, _ask_end)
    for number in (
        signal.SIGINT,
        signal.SIGHUP,
    ):  # a terminal's Ctrl-C is for the supervisor, which saves first
        signal.signal(number, signal.SIG_IGN)
    syscalls.become_subreaper()
    listener = _listen(home)
    try:
        box = replace(box, private_view=_can_have_private_view())
        _warm_up()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        _adopt(box)
        _serve(box, listener)
    except EndAsked:
        listener.close()
        home.forkserver_socket.unlink(missing_ok=True)
        keeper.end_all(box)
    return 0


def _adopt(box: Box) -> None:
    """Trees of an earlier fork server have keepers of their own; the few that lost theirs get a new one."""
    for tree in box.records.forget_old():
        (box.home.logs / "workspaces" / f"{tree}.log").unlink(missing_ok=True)
    for record in list(box.records.open()):
        if not record.is_kept:
            _fork(partial(_keep_orphan, box, record))


def _serve(box: Box, listener: socket.socket) -> NoReturn:
    while True:
        connection, _ = listener.accept()
        _fork(partial(_start_tree, box, listener, connection))
        connection.close()


def _fork(run: Callable[[], None]) -> int:
    """A child that does one thing and ends; an exception in it never reaches the parent's code."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        become.default_signals()
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _start_tree(box: Box, listener: socket.socket, connection: socket.socket) -> None:
    """In the keeper-to-be: fork the leader, forget the connection unread, keep."""
    listener.close()
    os.setsid()
    syscalls.become_subreaper()
    note, told = os.pipe()
    leader = _fork(partial(_lead, box, connection, told))
    become.close_all_but(note)
    keeper.keep(box, leader, note)


def _lead(box: Box, connection: socket.socket, told: int) -> None:
    """In the leader-to-be: read the request, become what it asks, answer, run."""
    os.setsid()
    connection.settimeout(request.TIMEOUT_SECONDS)
    try:
        if request.peer_uid(connection) != os.geteuid():
            raise PermissionError("only the deployment's own processes may start trees")
        wanted = request.receive_request(connection)
        become.check_person(wanted.person)
        record = become.record_of(wanted, box)
        box.records.add(record)
        os.write(told, record.to_json().encode())
        os.close(told)
        become.become(wanted, record, box, connection.fileno())
    except (OSError, ValueError, TypeError, TreeExists) as error:
        _refuse(connection, error)
        raise SystemExit(126) from error
    request.send_started(connection, request.Started(record.pid, record.started_at))
    _run(wanted, connection)


def _refuse(connection: socket.socket, error: Exception) -> None:
    kind = "exists" if isinstance(error, TreeExists) else "refused"
    try:
        request.send_refusal(connection, kind, f"{type(error).__name__}: {error}")
    except OSError:
        log.warning("nobody waited for the refusal: %s", error)


def _run(wanted: request.Request, connection: socket.socket) -> None:
    if wanted.kind == "command":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        try:
            os.execvpe(wanted.argv[0], wanted.argv, os.environ)
        except OSError as error:
            _refuse(connection, error)
            raise SystemExit(127) from error
    connection.close()
    become.make_unlike_siblings()
    sys.path[0:0] = [entry for entry in wanted.env.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.argv = wanted.argv
    wanted.env.clear()
    from jupyterhub import singleuser  # noqa: PLC0415 - warm.py has imported it

    singleuser.main()


def _keep_orphan(box: Box, record: Record) -> None:
    os.setsid()
    syscalls.become_subreaper()
    become.close_all_but(2)
    keeper.keep_orphan(box, record)


def _can_have_private_view() -> bool:
    """Tried once, in a process of its own: a container may hold root without the right to mount."""
    if os.geteuid() != 0:
        return False
    reason = probes.why_not("mount_namespace")
    if reason:
        log.warning("trees share /tmp and see all processes: %s", reason)
    return reason is None


def _warm_up() -> None:
    missing = warm.load()
    if missing:
        log.warning("not preloaded: %s", ", ".join(missing))
    log.info("ready")


def _drop_environment() -> None:
    """Start over with almost no environment: what a process was started with stays in its /proc/PID/environ,
    and in that of all children that fork without exec."""
    kept = {name: value for name, value in os.environ.items() if name in ENVIRONMENT}
    if set(os.environ) - set(kept):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)


def _forget_own_surroundings() -> None:
    """No folder of the caller on sys.path, no working directory that could vanish, no home whose files an import
    could read (but some: a uid without a name has none, and modules ask for it)."""
    os.environ["HOME"] = "/"
    here = os.getcwd()
    sys.path[:] = [entry for entry in sys.path if entry not in ("", here)]
    os.chdir("/")
    os.umask(0o077)


def _lock(home: Home) -> int | None:
    """Held until this process ends; a POSIX lock, since those are not inherited by the children."""
    descriptor = os.open(home.run / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _listen(home: Home) -> socket.socket:
    """Listening begins before the imports: the first request waits for them instead of being refused."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    home.forkserver_socket.unlink(missing_ok=True)
    with request.socket_address(home.forkserver_socket) as address:
        listener.bind(address)
    home.forkserver_socket.chmod(0o600)
    listener.listen(BACKLOG)
    return listener


def _ask_end(number: int, frame: FrameType | None) -> None:
    raise EndAsked(number)


if __name__ == "__main__":
    sys.exit(main())
