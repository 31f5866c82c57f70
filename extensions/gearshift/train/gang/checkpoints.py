"""How a checkpoint folder looks: `step-00000012/` holds the shards and, last of all, the mark `complete`."""

from __future__ import annotations

import re
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


def newest(root: Path) -> tuple[int, Path] | None:
    steps = complete(root)
    return steps[-1] if steps else None
