"""The static files of the pages: named, typed, and under a version that changes with any of them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("static")
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@cache
def files() -> dict[str, Path]:
    """What may be asked for, by name; nothing else is ever opened."""
    return {path.name: path for path in sorted(FOLDER.iterdir()) if path.suffix in TYPES}


@cache
def version() -> str:
    """Part of each file's address, so that browsers keep it for good and still get a new one."""
    digest = hashlib.sha256()
    for name, path in files().items():
        digest.update(f"{name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:10]
