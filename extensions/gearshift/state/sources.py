"""Source of functions and classes of cells: where compiled code cannot run, they are made again from it."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gearshift import cell_names
from gearshift.state.cells import bound_by, parsed
from gearshift.state.functions import CACHED


@dataclass(frozen=True)
class Source:
    """One top-level statement: the cell and line it stands at."""

    cell: int
    line: int
    text: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Sources:
    """Over one history: by name, the statement that bound it last, where that was a definition."""

    def __init__(self, history: Sequence[str]) -> None:
        self._last: dict[str, tuple[int, str, ast.stmt]] = {}
        for number, source in enumerate(history):
            for statement in parsed(source):
                for name in bound_by(statement):
                    self._last[name] = (number, source, statement)

    def of(self, name: str, value: Any) -> Source | None:
        """None where the last statement that bound the name does not give just this value."""
        found = self._last.get(name)
        if found is None or not _defines(found[2], name):
            return None
        number, source, statement = found
        if not _codes(value) <= set(_compiled(statement)):
            return None
        return Source(number, _first_line(statement), _text(source, statement))


def needed(source: Mapping[str, Any]) -> frozenset[str]:
    """Names that must be there when the statement runs: bases, decorators, defaults."""
    return cell_names.of_tree(ast.parse(str(source["text"]))).now


def make(source: Mapping[str, Any], name: str, ns: dict[str, Any]) -> Any:
    """Runs the statement in the namespace, as its cell did; the value is that of the name."""
    tree = ast.increment_lineno(ast.parse(str(source["text"])), int(source["line"]) - 1)
    code = compile(tree, f"<cell {source['cell']}>", "exec", dont_inherit=True)
    exec(code, ns)  # noqa: S102 - the person's own cell, from a signed file
    return ns[name]


def _defines(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return statement.name == name
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda)


def _codes(value: Any) -> set[types.CodeType]:
    """What must be found in the source: the code of the function, of the methods that the class defines."""
    inner = getattr(value, "__wrapped__", None) if type(value) is CACHED else value
    if isinstance(inner, types.FunctionType):
        return {inner.__code__}
    own = (
        [getattr(part, "__func__", part) for part in vars(value).values()] if isinstance(value, type) else []
    )
    return {f.__code__ for f in own if isinstance(f, types.FunctionType) and _is_of_a_cell(f.__code__)}


def _is_of_a_cell(code: types.CodeType) -> bool:
    """Not what `dataclass`, `Enum` and their like put into a class."""
    return code.co_filename != "<string>" and not Path(code.co_filename).exists()


def _compiled(statement: ast.stmt) -> Iterator[types.CodeType]:
    waiting = [compile(ast.Module([statement], []), "<cell>", "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        yield from inner
        waiting += inner


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _text(source: str, statement: ast.stmt) -> str:
    """As it was typed; a lambda may share its line with other statements."""
    if isinstance(statement, ast.Assign):
        return ast.unparse(statement)
    return "\n".join(source.split("\n")[_first_line(statement) - 1 : statement.end_lineno])
