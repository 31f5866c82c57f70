"""A share of the memory that is told once each time it is passed: on the way down nothing is told (facts-box 4)."""

from __future__ import annotations

from dataclasses import dataclass

BACK = 0.05
"""How far below its share use must fall before passing it counts again."""


@dataclass
class Mark:
    """Passed when more than `share` of the limit is used."""

    share: float
    is_passed: bool = False

    def passes(self, used_bytes: int, limit_bytes: int) -> bool:
        """True in the moment of passing, and not again until use was well below."""
        if not self.is_passed and used_bytes >= self.share * limit_bytes:
            self.is_passed = True
            return True
        if self.is_passed and used_bytes < (self.share - BACK) * limit_bytes:
            self.is_passed = False
        return False


def grew_most(before: dict[str, int], now: dict[str, int]) -> str | None:
    """Of these, the one that grew most between two looks; the largest where none grew."""
    growth = {name: size - before.get(name, 0) for name, size in now.items()}
    return max(now, key=lambda name: (max(growth[name], 0), now[name]), default=None)
