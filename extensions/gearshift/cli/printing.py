"""How commands print: tables, money, and an operation's end."""

from __future__ import annotations

from collections.abc import Sequence

from gearshift.cli.trouble import Refused
from gearshift.model.operation import Operation, OperationState
from gearshift.model.units import format_money

LEFT_TO_RIGHT = "  "


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns; a table without rows is its heads."""
    widths = [max(len(line[column]) for line in (heads, *rows)) for column in range(len(heads))]
    for line in (heads, *rows):
        print(
            LEFT_TO_RIGHT.join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        )


def price(nano: int | None, symbol: str) -> str:
    """A price per hour; unknown is a dash."""
    return "–" if nano is None else f"{format_money(nano, symbol)}/h"


def ended(operation: Operation) -> None:
    """Raise what it failed with."""
    if operation.state is OperationState.DONE:
        return
    said = operation.error
    reason = getattr(said, "message", None) or (said.get("message") if isinstance(said, dict) else None)
    raise Refused(str(reason or f"{operation.kind} was {operation.state}."), status=1)
