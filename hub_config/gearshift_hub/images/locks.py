"""Locks: every package of an image with its hashes, and in the head the digest of what it was made from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

INPUTS = "# inputs: "
PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)


def digest(lock: Path) -> str:
    """What an image is known by."""
    return digest_of(lock.read_text("utf-8"))


def digest_of(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def packages(lock: Path) -> dict[str, str]:
    """Package -> version, also of those that only another system gets."""
    return {name.lower(): version for name, version in PINNED.findall(lock.read_text("utf-8"))}


def inputs_digest(chain: Sequence[Path], asked: Sequence[str]) -> str:
    """Of all that decides what is in a lock; comments do not."""
    lines = [
        line.partition("#")[0].strip() for path in chain for line in path.read_text("utf-8").splitlines()
    ]
    return digest_of("\n".join(sorted(filter(None, [*lines, *asked]))))


def recorded_inputs(lock: Path) -> str:
    """What the lock says it was made from."""
    heads = (line for line in lock.read_text("utf-8").splitlines() if line.startswith(INPUTS))
    return next(heads, "").removeprefix(INPUTS)


def written(body: str, name: str, inputs: str) -> str:
    """The lock's text. Where the packages came from is not said in it."""
    head = [f"# The lock of the image {name}; written by `gearshift image lock`.", f"{INPUTS}{inputs}"]
    return "\n".join([*head, *_without_comments(body)]) + "\n"


def _without_comments(body: str) -> Iterable[str]:
    return (
        line for line in body.splitlines() if line.strip() and not line.lstrip().startswith(("#", "--find"))
    )
