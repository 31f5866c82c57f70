"""The one right that ranks need before their code begins: entering the network of their node.

The supervisor has it in a user namespace of its own, and an exec takes it away. The template keeps it through its
exec, since it forks ranks; each rank drops it before it runs anything of its person's.
"""

from __future__ import annotations

import ctypes
import os

from gearshift.train.gang.enclosure import libc

CAP_SYS_ADMIN = 21
PR_CAP_AMBIENT, RAISE, CLEAR_ALL = 47, 2, 4
VERSION_3 = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def keep_through_exec() -> None:
    """The next exec of the calling process leaves it this right, where it has it."""
    sets = _read()
    if sets[0].permitted & (1 << CAP_SYS_ADMIN):
        sets[0].inheritable |= 1 << CAP_SYS_ADMIN
        _write(sets)
        libc.prctl(PR_CAP_AMBIENT, RAISE, CAP_SYS_ADMIN, 0, 0)


def drop() -> None:
    """What an exec does; root keeps what it has."""
    libc.prctl(PR_CAP_AMBIENT, CLEAR_ALL, 0, 0, 0)
    sets = _read() if os.getuid() == 0 else (_Sets * 2)()
    for one in sets:
        one.inheritable = 0
    _write(sets)


def _read() -> ctypes.Array[_Sets]:
    sets = (_Sets * 2)()
    if libc.capget(ctypes.byref(_Header(VERSION_3, 0)), sets) != 0:
        raise OSError(ctypes.get_errno(), "the rights of this process cannot be read")
    return sets


def _write(sets: ctypes.Array[_Sets]) -> None:
    if libc.capset(ctypes.byref(_Header(VERSION_3, 0)), sets) != 0:
        raise OSError(ctypes.get_errno(), "the rights of this process cannot be changed")
