"""The one way a command refuses: a sentence on stderr and an exit status."""

from __future__ import annotations


class Refused(Exception):
    """What to say; 2 for a wrong or impossible request, 1 for something that failed."""

    def __init__(self, sentence: str, status: int = 2) -> None:
        super().__init__(sentence)
        self.status = status
