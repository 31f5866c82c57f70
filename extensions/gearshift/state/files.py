"""Reduces open files: one open for reading is opened again at the same place, any other is refused with its reason."""

from __future__ import annotations

import io
import os
import stat
from typing import Any

from gearshift.state.reasons import file_code
from gearshift.state.rebuild import opened
from gearshift.state.refusal import Refusal

FILE_TYPES: tuple[type, ...] = (
    io.TextIOWrapper,
    io.BufferedReader,
    io.BufferedWriter,
    io.BufferedRandom,
    io.FileIO,
)


def reduce_file(file: Any) -> tuple[Any, ...]:
    """Only a regular file that is still at its path."""
    if file.closed or not file.readable() or file.writable() or not _is_at_its_path(file):
        raise Refusal(file_code(file), file)
    mode, options = _how(file)
    try:
        return opened, (os.path.abspath(file.name), mode, options, file.tell())
    except OSError as error:
        raise Refusal("file_position", file) from error


def flush(file: Any) -> None:
    """What was written so far is safe in the file before the process goes away."""
    if not file.closed and file.writable():
        file.flush()


def _how(file: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(file, io.TextIOWrapper):
        return "rb", {"buffering": 0} if isinstance(file, io.FileIO) else {}
    return "r", {"encoding": file.encoding, "errors": file.errors}


def _is_at_its_path(file: Any) -> bool:
    if not isinstance(file.name, (str, bytes)):
        return False
    try:
        there, here = os.stat(file.name), os.fstat(file.fileno())
    except OSError:
        return False
    return stat.S_ISREG(here.st_mode) and (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
