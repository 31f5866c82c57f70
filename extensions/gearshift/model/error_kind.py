"""What an error of the table consists of."""

from __future__ import annotations

from typing import NamedTuple


class ErrorKind(NamedTuple):
    """`{name}` in a sentence is filled from the facts, `{value!r}` quotes what was sent, and a clause in `[[ ]]` is
    said only when all its facts are known."""

    status: int
    en: str
    zh: str
