"""The signing key of a state folder: 32 random bytes in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gearshift.state.container import Refused

NAME = "key"


def ensure(folder: Path) -> Path:
    """The path of the key, made once. The folder is closed to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / NAME
    if not path.exists():
        aside = folder / f".{NAME}.{os.getpid()}"
        fd = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
        os.link(aside, path) if not path.exists() else None
        aside.unlink()
    return path


def read(path: Path) -> bytes:
    """Refused where somebody else could know or have made it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"the key {path.name} cannot be opened: {error.strerror}") from error
    with os.fdopen(fd, "rb") as file:
        facts = os.fstat(fd)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
            raise Refused("the key is not yours alone")
        return file.read(64)
