"""Opens a file only where it is a plain file of our own that nobody else can change; a link is none."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotOurs(Exception):
    """Why the file is not believed, in words."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file, or NotOurs."""
    try:
        descriptor = os.open(path, FLAGS)
    except FileNotFoundError as error:
        raise NotOurs(f"{path.name} is missing") from error
    except OSError as error:
        raise NotOurs(f"{path.name} is a link, or cannot be opened") from error
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise NotOurs(f"{path.name} is no plain file")
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise NotOurs(f"{path.name} can be changed by others")
        yield file
