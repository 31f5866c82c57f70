"""Reads the history of cells: what each binds, needs and changes, and what it does that running it again may repeat."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gearshift import cell_names

_WRAPPED = frozenset({"time", "timeit", "capture", "prun", "memit"})
"""Cell magics whose body runs in the notebook's own namespace."""

_ONLY_LOOKS = frozenset(
    {
        *(
            "print",
            "display",
            "len",
            "repr",
            "str",
            "type",
            "help",
            "id",
            "dir",
            "vars",
            "isinstance",
            "sorted",
        ),
        *("sum", "min", "max", "head", "tail", "describe", "info", "show", "plot", "hist"),
    }
)
"""Calls after which their arguments are as before."""

_REACHES_OUT = frozenset(
    {
        *("write_text", "write_bytes", "unlink", "rmdir", "rmtree", "remove", "rename", "makedirs", "mkdir"),
        *(
            "copyfile",
            "copytree",
            "move",
            "to_csv",
            "to_parquet",
            "to_json",
            "to_excel",
            "to_sql",
            "to_pickle",
        ),
        *("to_hdf", "save", "savez", "savetxt", "savefig", "dump", "save_pretrained", "push_to_hub"),
        *("execute", "executemany", "executescript", "commit", "connect", "send", "sendall", "sendmail"),
        *("request", "urlopen", "urlretrieve", "post", "put", "patch", "delete"),
        *("Popen", "system", "check_call", "check_output", "call", "kill", "input"),
    }
)
"""Calls that may change something outside the kernel."""

_SHELL = frozenset({"system", "getoutput", "run_line_magic", "run_cell_magic"})
"""What `!`, `%` and `%%` become."""


@dataclass(frozen=True)
class Facts:
    """Of one cell. `now`: names read while it runs; `later`: names that functions defined in it read when called.

    `touched`: names whose values it may change in place. `doubts`: what it does that cannot be judged from here."""

    bound: tuple[str, ...] = ()
    deleted: frozenset[str] = frozenset()
    now: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    doubts: tuple[str, ...] = ()
    awaits: bool = False


@functools.lru_cache(maxsize=8192)
def facts(source: str) -> Facts:
    """Nothing for a cell that is no Python."""
    trees = list(_trees(source))
    names = _Names()
    read = [cell_names.of_tree(tree) for tree in trees if _compiles(tree)]
    for tree in trees:
        names.visit(tree)
    return Facts(
        tuple(names.bound),
        frozenset(names.deleted),
        frozenset().union(*(one.now for one in read)),
        frozenset().union(*(one.later for one in read)),
        frozenset(name for tree in trees for name in _touched(tree)),
        tuple(dict.fromkeys(doubt for tree in trees for doubt in _doubts(tree))),
        any(isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) for t in trees for node in _flat(t)),
    )


def parsed(source: str) -> Iterator[ast.stmt]:
    """The statements of a cell, and of a cell magic that runs in the notebook's namespace."""
    for tree in _trees(source):
        yield from tree.body


def bound_by(statement: ast.stmt) -> list[str]:
    """Names that one statement binds."""
    names = _Names()
    names.visit(statement)
    return list(names.bound)


def binders(history: Sequence[str]) -> dict[str, list[int]]:
    """Name -> numbers of the cells that bound it, oldest first; a deleted name is forgotten."""
    found: dict[str, list[int]] = {}
    for number, source in enumerate(history):
        cell = facts(source)
        for name in cell.bound:
            found.setdefault(name, []).append(number)
        for name in cell.deleted - set(cell.bound):
            found.pop(name, None)
    return found


def dotted_imports(history: Sequence[str]) -> list[str]:
    """`import a.b.c` anywhere in a cell: the submodule is reachable through `a` only when it is imported."""
    found: dict[str, None] = {}
    for source in history:
        for tree in _trees(source) if "import" in source else ():
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


def _compiles(tree: ast.Module) -> bool:
    """`return` at top level parses but is no code."""
    try:
        cell_names.of_tree(tree)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _flat(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when the cell runs: not the bodies of functions."""
    yield tree
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _flat(node)


def _touched(tree: ast.Module) -> Iterator[str]:
    for node in _flat(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from _root(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if _called(call) not in _ONLY_LOOKS:
                yield from _root(call.func)
                yield from (arg.id for arg in call.args if isinstance(arg, ast.Name))


def _root(node: ast.expr) -> Iterator[str]:
    """`net` of `net.layer.weight[0]`; a plain function name is no value that changes."""
    inner = node
    while isinstance(inner, ast.Attribute | ast.Subscript | ast.Call):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    if isinstance(inner, ast.Name) and inner is not node:
        yield inner.id


def _doubts(tree: ast.Module) -> Iterator[str]:
    for node in _flat(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _called(node)
        if name in _SHELL and _is_shell(node.func):
            if _magic_word(node) not in _WRAPPED:
                yield _magic_word(node) or "!"
        elif name in _REACHES_OUT or (name == "open" and _opens_to_write(node)):
            yield str(name)


def _is_shell(func: ast.expr) -> bool:
    return (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Call)
        and (_called(func.value) == "get_ipython")
    )


def _magic_word(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    is_magic = _called(call) in ("run_line_magic", "run_cell_magic") and isinstance(first, ast.Constant)
    return str(first.value) if is_magic and isinstance(first, ast.Constant) else None


def _opens_to_write(call: ast.Call) -> bool:
    given: Iterable[ast.expr] = [*call.args[:2], *(k.value for k in call.keywords if k.arg == "mode")]
    modes = [arg.value for arg in given if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return any(len(mode) <= 3 and not set("wax+").isdisjoint(mode) for mode in modes)


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
