"""Makes `%gearshift` known to a kernel from its start, and loads what is behind it when it is first used."""

from __future__ import annotations

from typing import Any

NAME = "gearshift"


def offer(shell: Any) -> None:
    """Called when a kernel starts, so it imports nothing; `%load_ext gearshift` does the same at once."""

    def first(line: str, cell: str | None = None) -> Any:
        shell.extension_manager.load_extension(NAME)
        if cell is None:
            return shell.run_line_magic(NAME, line)
        return shell.run_cell_magic(NAME, line, cell)

    if NAME not in shell.extension_manager.loaded:
        shell.register_magic_function(first, magic_kind="line_cell", magic_name=NAME)
