"""Reads the history of cells: which cell binds which name, and which modules cells import by their full path."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_WRAPPED = frozenset({"time", "timeit", "capture", "prun", "memit"})
"""Cell magics whose body runs in the notebook's own namespace."""


def binders(history: Sequence[str]) -> dict[str, list[int]]:
    """Name -> numbers of the cells that bound it, oldest first; a deleted name is forgotten."""
    found: dict[str, list[int]] = {}
    for number, source in enumerate(history):
        names = _Names()
        for tree in _trees(source):
            names.visit(tree)
        for name in names.bound:
            found.setdefault(name, []).append(number)
        for name in names.deleted - names.bound.keys():
            found.pop(name, None)
    return found


def dotted_imports(history: Sequence[str]) -> list[str]:
    """`import a.b.c` anywhere in a cell: the submodule is reachable through `a` only when it is imported."""
    found: dict[str, None] = {}
    for source in history:
        for tree in _trees(source):
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    found.update({alias.name: None for alias in node.names if "." in alias.name})
    return list(found)


def calls(history: Sequence[str], function: str) -> bool:
    """Whether a function of this name is called anywhere in the cells."""
    for source in history:
        if function not in source:
            continue
        for tree in _trees(source):
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and _called(node) == function:
                    return True
    return False


def _trees(source: str) -> Iterator[ast.Module]:
    """The cell, and the body of a cell magic in it; a cell that does not parse tells nothing."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield tree
    for node in tree.body:
        body = _magic_body(node)
        if body is not None:
            yield from _trees(body)


def _magic_body(node: ast.stmt) -> str | None:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return None
    call = node.value
    if _called(call) != "run_cell_magic" or len(call.args) != 3:
        return None
    words = [arg.value if isinstance(arg, ast.Constant) else None for arg in call.args]
    return words[2] if words[0] in _WRAPPED and isinstance(words[2], str) else None


def _called(call: ast.Call) -> str | None:
    target = call.func
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else None


class _Names(ast.NodeVisitor):
    """Names bound and deleted in the cell's own scope: bodies of functions, classes and comprehensions are not."""

    def __init__(self) -> None:
        self.bound: dict[str, None] = {}
        self.deleted: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bound[node.id] = None
        elif isinstance(node.ctx, ast.Del):
            self.deleted.add(node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.bound[node.name] = None
        for decorator in node.decorator_list:
            self.visit(decorator)

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Its names are its own."""

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """The loop variable is local to it; a walrus in its conditions is not."""
        for condition in node.ifs:
            self.visit(condition)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bound[alias.asname or alias.name.partition(".")[0]] = None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.bound.update({alias.asname or alias.name: None for alias in node.names if alias.name != "*"})

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """`except E as e` unbinds `e` at its end."""
        for statement in node.body:
            self.visit(statement)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.bound[node.name] = None
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.bound[node.name] = None
