"""POSIX access control lists as the bytes Linux keeps in an extended attribute: who besides the owner may."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping
from typing import Literal

Mode = Literal["ro", "rw"]

ACCESS = "system.posix_acl_access"
DEFAULT = "system.posix_acl_default"
READ, WRITE, ENTER = 4, 2, 1
ALL = READ | WRITE | ENTER
ALLOWED: Mapping[Mode, int] = {"ro": READ | ENTER, "rw": ALL}

_VERSION = 2
_OWNER, _USER, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x10, 0x20
_NOBODY = 0xFFFFFFFF


def encode(owner: int, members: Mapping[int, int], mask: int) -> bytes:
    """An ACL: what the file's owner may, what each uid may at most, the mask over them; others nothing."""
    entries = [(_OWNER, owner, _NOBODY)]
    entries += [(_USER, allowed, uid) for uid, allowed in sorted(members.items())]
    entries += [(_GROUP, 0, _NOBODY), (_MASK, mask, _NOBODY), (_OTHER, 0, _NOBODY)]
    return struct.pack("<I", _VERSION) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def put(path: str, name: str, value: bytes) -> bool:
    """Set an ACL where it differs; True when something was changed."""
    if get(path, name) == value:
        return False
    os.setxattr(path, name, value)
    return True


def get(path: str, name: str) -> bytes:
    """The ACL as it is; empty where there is none."""
    try:
        return os.getxattr(path, name)
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.EOPNOTSUPP):
            return b""
        raise


def may_read(path: str, status: os.stat_result, uid: int) -> bool:
    """Whether the file's mode and entries let this uid read it, as the kernel judges."""
    if status.st_uid == uid:
        return bool((status.st_mode >> 6) & READ)
    entries = get(path, ACCESS)
    found = {(tag, who): allowed for tag, allowed, who in struct.iter_unpack("<HHI", entries[4:])}
    mask = found.get((_MASK, _NOBODY), ALL)
    return (
        bool(found.get((_USER, uid), status.st_mode) & mask & READ) if found else bool(status.st_mode & READ)
    )


def supported(folder: str) -> bool:
    """Whether the file system of this folder keeps ACLs (tried on the folder itself, nothing stays)."""
    try:
        before = get(folder, DEFAULT)
        os.setxattr(folder, DEFAULT, encode(ALL, {}, ALL))
        if before:
            os.setxattr(folder, DEFAULT, before)
        else:
            os.removexattr(folder, DEFAULT)
    except OSError:
        return False
    return True
