"""What people send for their jobs, by SHA-256: one folder a person, bounded in size and in age.

A job that starts copies its bundle into its own folder, so only jobs that wait need theirs here.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from gearshift.model.errors import fail
from gearshift.model.slug import slug
from gearshift.model.units import format_bytes

SHA256 = re.compile(r"[0-9a-f]{64}")


class Bundles:
    """The bundles below one folder; a file's time is when it was sent last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, owner: str, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        target = self.path(owner, sha256)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = target.with_name(f".{sha256}.{os.getpid()}")
        aside.write_bytes(data)
        aside.replace(target)
        return sha256

    def size(self, owner: str, sha256: str) -> int | None:
        if not SHA256.fullmatch(sha256):
            return None
        try:
            return self.path(owner, sha256).stat().st_size
        except FileNotFoundError:
            return None

    def make_room(
        self, owner: str, needed: Collection[str], sent_before: float, limit: int, coming: int
    ) -> None:
        """Drop what nobody needs and was sent before that time; then the oldest, until `coming` bytes fit as well."""
        found = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self._of(owner))
        total = coming + sum(size for _, size, _ in found)
        for sent, size, path in found:
            if path.name not in needed and (sent < sent_before or total > limit):
                path.unlink(missing_ok=True)
                total -= size
        if total > limit:
            raise fail(
                "too_large", field="bundles", value=total, size=format_bytes(total), limit=format_bytes(limit)
            )

    def path(self, owner: str, sha256: str) -> Path:
        return self._folder / slug(owner) / sha256

    def _of(self, owner: str) -> list[Path]:
        with suppress(FileNotFoundError):
            return list((self._folder / slug(owner)).iterdir())
        return []
