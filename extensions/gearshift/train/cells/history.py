"""The cells that were run, as statements: what each binds, where it stands, and whether it travels as source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from gearshift import cell_names as names
from gearshift.train.bundle import Code

ASSIGNED_COMMAND = re.compile(r"^(\s*[A-Za-z_][\w, ]*=)\s*[!%](?!=).*$")
HELP = re.compile(r"\s*[\w.]+\?{1,2}\s*")
TRANSPARENT = {"time", "capture", "timeit", "prun"}
"""Cell magics whose body runs in the notebook's own namespace."""


@dataclass(frozen=True)
class Statement:
    """One top-level statement of a cell."""

    cell: Cell
    node: ast.stmt

    @property
    def position(self) -> tuple[int, int]:
        return self.cell.number, self.first_line

    @property
    def first_line(self) -> int:
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        lines = [self.node.lineno, *(decorator.lineno for decorator in decorators)]
        return min(lines) + self.cell.offset

    @cached_property
    def names(self) -> names.Names:
        return names.of_tree(ast.Module([self.node], type_ignores=[]))

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def is_definition(self) -> bool:
        """Whether it travels as source."""
        lambda_bound = isinstance(self.node, ast.Assign) and isinstance(self.node.value, ast.Lambda)
        definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return self.is_import or lambda_bound or isinstance(self.node, definition)

    def code(self) -> Code:
        lines = self.cell.source.split("\n")[
            self.first_line - 1 : (self.node.end_lineno or 0) + self.cell.offset
        ]
        if not getattr(self.node, "decorator_list", None):
            last = lines[-1].encode()[: self.node.end_col_offset].decode()
            lines[-1] = last
            lines[0] = lines[0].encode()[self.node.col_offset :].decode()
        return Code(self.cell.file, self.first_line, "\n".join(lines))


@dataclass(frozen=True)
class Cell:
    """An executed cell; `offset` lines of a cell magic stand before its code."""

    number: int
    source: str
    offset: int = 0

    @property
    def file(self) -> str:
        return f"In[{self.number}]"

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Nothing for a cell that is not Python: it defined nothing either."""
        body = "\n".join(self.source.split("\n")[self.offset :])
        try:
            tree = ast.parse(body)
            names.of_tree(tree)
        except (SyntaxError, ValueError):
            return ()
        return tuple(Statement(self, node) for node in tree.body)


def read_history(inputs: Iterable[str], first: int = 0) -> list[Cell]:
    """Cells from IPython's `In` (raw or transformed); the number of a cell is its place in the list."""
    return [cell(number, source) for number, source in enumerate(inputs, first) if source.strip()]


def cell(number: int, source: str) -> Cell:
    """A cell as it was typed; a leading `%%time` is passed over, another cell magic makes it opaque."""
    lines = source.split("\n")
    offset = 0
    while offset < len(lines) and _is_transparent(lines[offset]):
        offset += 1
    return Cell(number, "\n".join(_blank(line) for line in lines), offset)


def last_binding(cells: Iterable[Cell]) -> Mapping[str, Statement]:
    """For each name the last statement that bound it."""
    found: dict[str, Statement] = {}
    for one in cells:
        for statement in one.statements:
            for name in statement.names.bound:
                found[name] = statement
    return found


def _is_transparent(line: str) -> bool:
    words = line.removeprefix("%%").split()
    return not line.strip() or (line.startswith("%%") and bool(words) and words[0] in TRANSPARENT)


def _blank(line: str) -> str:
    """Notebook commands in Python's place: `pass` keeps blocks whole, `x = !ls` still binds `x`."""
    stripped = line.lstrip()
    if (stripped.startswith(("!", "%", "?")) and not stripped.startswith("%%")) or HELP.fullmatch(line):
        return line[: len(line) - len(stripped)] + "pass"
    return ASSIGNED_COMMAND.sub(r"\1 None", line)
