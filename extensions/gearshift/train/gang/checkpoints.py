"""How a checkpoint folder looks: `step-00000012/` holds the shards and, last of all, the mark `complete`."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path

COMPLETE = "complete"
NAME = re.compile(r"step-(\d{8,})")


def folder(root: Path, step: int) -> Path:
    return root / f"step-{step:08d}"


def complete(root: Path) -> list[tuple[int, Path]]:
    """Every checkpoint that was finished, oldest first. A torn one is not in the list."""
    if not root.is_dir():
        return []
    found = [
        (int(match[1]), path)
        for path in root.iterdir()
        if (match := NAME.fullmatch(path.name)) and (path / COMPLETE).is_file()
    ]
    return sorted(found)


def adopt(source: Path, target: Path) -> int:
    """Take over the newest complete checkpoint of another job, aside first; returns its step.

    Raises FileNotFoundError when there is none. Once adopted, doing it again changes nothing.
    """
    found = newest(source)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "no complete checkpoint", str(source))
    step, path = found
    if not (folder(target, step) / COMPLETE).is_file():
        aside = target / f".{path.name}"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(path, aside, symlinks=True)
        shutil.rmtree(folder(target, step), ignore_errors=True)
        aside.rename(folder(target, step))
    return step


def newest(root: Path) -> tuple[int, Path] | None:
    steps = complete(root)
    return steps[-1] if steps else None
