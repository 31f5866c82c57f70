"""Reads JSON that somebody else wrote: what comes out can be kept in any database and sent in any answer.

Python's own reader takes more than that: NaN and Infinity, halves of characters, NUL bytes, and it gives up on deep
nesting with an error that is no ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


class ForeignJsonError(ValueError):
    """The text is no such JSON; says why in a few words, and in which field where that is known."""

    def __init__(self, problem: str, field: str | None = None) -> None:
        super().__init__(problem)
        self.field = field


def read(raw: bytes) -> Any:
    """The value; raises ForeignJsonError."""
    try:
        found = json.loads(raw)
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError as error:
        raise ForeignJsonError("it is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise ForeignJsonError("it holds half of a character") from error
    except json.JSONDecodeError as error:
        raise ForeignJsonError(f"no JSON at character {error.pos}") from error
    except UnicodeDecodeError as error:
        raise ForeignJsonError("it is not UTF-8") from error
    except ValueError as error:
        raise ForeignJsonError("a number is too large or not finite") from error
    nul = next((field for field, text in _texts(found) if "\0" in text), None) if b"\\u0000" in raw else None
    if nul is not None:
        raise ForeignJsonError("it holds a NUL", nul)
    return found


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Every string in a value with the field it belongs to, names of fields as well."""
    todo = [("", value)]
    while todo:
        field, found = todo.pop()
        if isinstance(found, str):
            yield field, found
        elif isinstance(found, dict):
            yield from ((field, name) for name in found)
            todo.extend(found.items())
        elif isinstance(found, list):
            todo.extend((field, one) for one in found)
