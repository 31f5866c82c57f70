"""Own process, network and mount namespaces for a gang: when its first process dies, all of it dies.

Needs no privilege where user namespaces are allowed. The outer process only waits and passes signals on;
the inner one is process 1 of the gang. Killing either of them with -9 leaves nothing behind.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
MS_NOSUID_NODEV_NOEXEC, MS_REC_PRIVATE, MS_BIND = 2 | 4 | 8, 0x44000, 0x1000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Enclosure:
    """What holds this gang together."""

    pid_namespace: bool
    private_network: bool


def run(inside: Callable[[Enclosure], int], private_network: bool) -> int:
    """Run `inside` as process 1 of its own namespaces, or as subreaper where the box allows none."""
    if _enter(private_network):
        return _run_as_first_process(inside, private_network)
    return run_as_subreaper(inside)


def run_as_subreaper(inside: Callable[[Enclosure], int]) -> int:
    """Orphans of the gang come back to this process; if it is killed with -9, daemons of the ranks stay."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return inside(Enclosure(pid_namespace=False, private_network=False))


def die_with_parent() -> None:
    """The kernel kills this process when its parent dies, however that happens."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _enter(private_network: bool) -> bool:
    """Unshare in a child first: a refusal half-way must not leave this process between two worlds."""
    flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | (CLONE_NEWNET if private_network else 0)
    probe = os.fork()
    if probe == 0:
        os._exit(0 if _unshare(flags) and _proc_mounts_in_child() else 1)
    _, status = os.waitpid(probe, 0)
    return status == 0 and _unshare(flags)


def _unshare(flags: int) -> bool:
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(flags) != 0:
        return False
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    except OSError:
        return False
    return True


def _proc_mounts_in_child() -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if _mount_proc() else 1)
    return os.waitpid(child, 0)[1] == 0


def _mount_proc() -> bool:
    if libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None) != 0:
        return False
    return bool(libc.mount(b"proc", b"/proc", b"proc", MS_NOSUID_NODEV_NOEXEC, None) == 0)


def _run_as_first_process(inside: Callable[[Enclosure], int], private_network: bool) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    child = os.fork()
    if child == 0:
        die_with_parent()
        if not _mount_proc() or (private_network and not _loopback_up()):
            os._exit(70)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        os._exit(inside(Enclosure(pid_namespace=True, private_network=private_network)))
    _forward_signals(child)
    return _wait(child)


def _loopback_up() -> bool:
    with socket.socket() as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
    return True


def _forward_signals(child: int) -> None:
    def forward(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)


def _wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
