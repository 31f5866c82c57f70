"""The Linux calls Python 3.11 has no name for: unshare, mount, prctl."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18

PR_SET_NO_NEW_PRIVS = 38
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags`."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2); raises OSError with the target's name."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        os.fsencode(kind) or None,
        ctypes.c_ulong(flags),
        os.fsencode(data) or None,
    )
    _check(result, f"mount {target}")


def forbid_new_privileges() -> None:
    """From here on no set-uid program gives this process or its children anything."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def become_subreaper() -> None:
    """Orphans below this process come to it instead of going to pid 1."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero), f"prctl {option}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
