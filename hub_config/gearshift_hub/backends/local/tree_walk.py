"""Walking a folder that other people may change meanwhile: by descriptors, never through a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

DEEPEST = 200
"""Folders below this depth are left out and reported: each level holds a descriptor open."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Found:
    """One entry met on the walk; `folder` is an open descriptor, valid until the walk goes on."""

    folder: int
    name: str
    stat: os.stat_result
    too_deep: bool = False


def walk(root: Path) -> Iterator[Found]:
    """Every entry below `root`, folders before what they hold; what vanishes meanwhile is passed over."""
    with ExitStack() as last_resort:
        stack = [_enter(os.open(root, _FOLDER))]
        last_resort.callback(_close_all, stack)
        while stack:
            folder, entries = stack[-1]
            found = _next(folder, entries, len(stack))
            if found is None:
                stack.pop()
                entries.close()
                os.close(folder)
                continue
            yield found
            if _is_folder(found) and not found.too_deep:
                _descend(stack, found)


def _next(folder: int, entries: os._ScandirIterator[str], depth: int) -> Found | None:
    for entry in entries:
        try:
            stat = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue
        return Found(folder, entry.name, stat, too_deep=depth >= DEEPEST)
    return None


def _descend(stack: list[tuple[int, os._ScandirIterator[str]]], found: Found) -> None:
    try:
        stack.append(_enter(os.open(found.name, _FOLDER, dir_fd=found.folder)))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return


def _enter(descriptor: int) -> tuple[int, os._ScandirIterator[str]]:
    return descriptor, os.scandir(descriptor)


def _is_folder(found: Found) -> bool:
    return (found.stat.st_mode & 0o170000) == 0o040000


def _close_all(stack: list[tuple[int, os._ScandirIterator[str]]]) -> None:
    for descriptor, entries in stack:
        entries.close()
        os.close(descriptor)
