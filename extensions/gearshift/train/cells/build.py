"""Build the bundle of one cell: follow its names through the history until nothing new is needed."""

from __future__ import annotations

import ast
import builtins
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gearshift import cell_names as names
from gearshift.model.errors import fail
from gearshift.model.units import format_bytes
from gearshift.train.bundle import MAX_BYTES, Bundle, Chunk, Code, Value
from gearshift.train.cells import modules, values
from gearshift.train.cells.history import Cell, Statement, last_binding

NOT_SENT = {"In", "Out", "get_ipython", "exit", "quit", "open", "__name__", "__builtins__"}
Position = tuple[int, int]


@dataclass
class _Needs:
    """What was found so far."""

    sources: dict[Position, Statement] = field(default_factory=dict)
    values: dict[str, Position] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    too_large: dict[str, str] = field(default_factory=dict)


def build(
    launched: Cell,
    history: Sequence[Cell],
    namespace: Mapping[str, Any],
    folder: Path,
    send: Collection[str] = (),
) -> Bundle:
    """The bundle, or an error that names what cannot travel. Nothing is reserved before this has succeeded."""
    body = _parse(launched)
    _check_sent(send, namespace)
    finder = _Finder(history, namespace, send)
    finder.follow(names.of_tree(body).needed | set(send))
    _refuse(finder.needs, finder.last)
    chunks = (*finder.chunks(), _whole(launched))
    cells = {cell.file: cell.source for cell in (*history, launched)}
    used = {chunk.file for chunk in chunks if isinstance(chunk, Code)}
    files = modules.own_files(modules.imported(c.source for c in chunks if isinstance(c, Code)), folder)
    return _limited(
        Bundle(
            chunks,
            finder.pickled(),
            {name: source for name, source in cells.items() if name in used},
            files,
        )
    )


class _Finder:
    """Follows names; each is looked at once."""

    def __init__(self, history: Sequence[Cell], namespace: Mapping[str, Any], send: Collection[str]) -> None:
        self._history = history
        self._namespace = namespace
        self._send = send
        self._seen: set[str] = set()
        self.last = last_binding(history)
        self.needs = _Needs()
        definitions = (name for name, statement in self.last.items() if statement.is_definition)
        self._defined = set(definitions) - set(send)

    def follow(self, wanted: Iterable[str]) -> None:
        todo = set(wanted)
        while todo:
            name = todo.pop()
            if name in self._seen or name in NOT_SENT or name not in self._namespace:
                continue
            self._seen.add(name)
            statement = self.last.get(name)
            if statement is None and hasattr(builtins, name):
                continue
            if statement is not None and name in self._defined:
                todo |= self._add_source(name, statement)
            else:
                todo |= self._add_value(name, statement)

    def chunks(self) -> list[Chunk]:
        """In the order of the notebook; a value stands after what it refers to."""
        placed: list[tuple[Position, int, Chunk]] = [
            (position, 0, statement.code()) for position, statement in self.needs.sources.items()
        ]
        placed += [(position, 1, Value(name)) for name, position in self.needs.values.items()]
        return [chunk for _, _, chunk in sorted(placed, key=lambda entry: entry[:2])]

    def pickled(self) -> bytes:
        """All values by one pickler, so that two names of one object stay one object."""
        buffer = io.BytesIO()
        pickler = values.Pickler(buffer, self._namespace, self._defined, set(), None)
        for chunk in self.chunks():
            if isinstance(chunk, Value):
                pickler.dump(self._namespace[chunk.name])
        return buffer.getvalue()

    def _add_source(self, name: str, statement: Statement) -> set[str]:
        found = (
            _same_root_imports(self._history, name) if isinstance(statement.node, ast.Import) else [statement]
        )
        needed: set[str] = set()
        for one in found:
            self.needs.sources[one.position] = one
            needed |= one.names.needed
        return needed

    def _add_value(self, name: str, statement: Statement | None) -> set[str]:
        limit = None if name in self._send else values.LIMIT
        trial = values.attempt(self._namespace[name], self._namespace, self._defined, limit)
        if trial.too_large:
            self.needs.too_large[name] = trial.too_large
        if trial.refused:
            self.needs.refused[name] = trial.refused
        own = statement.position if statement else (0, 0)
        self.needs.values[name] = max([own, *(self.last[other].position for other in trial.refers_to)])
        return trial.refers_to


def _parse(cell: Cell) -> ast.Module:
    body = "\n".join(cell.source.split("\n")[cell.offset :])
    try:
        tree = ast.parse(body)
        compile(tree, cell.file, "exec")
    except SyntaxError as error:
        line = (error.lineno or 1) + cell.offset
        problem = _hint(body, error)
        raise fail("syntax_error", field="cell", value=cell.file, line=line, problem=problem) from error
    if not tree.body:
        raise fail("bad_request", field="cell", value="", problem="the cell has no code")
    return tree


def _hint(body: str, error: SyntaxError) -> str:
    lines = body.split("\n")
    line = lines[(error.lineno or 1) - 1].strip() if (error.lineno or 1) <= len(lines) else ""
    if line.startswith(("%", "!")):
        return f"{line[:40]!r} is a notebook command; a job runs plain Python"
    return f"{error.msg} in {line[:60]!r}"


def _whole(cell: Cell) -> Code:
    body = "\n".join(cell.source.split("\n")[cell.offset :])
    return Code(cell.file, cell.offset + 1, body)


def _same_root_imports(history: Sequence[Cell], name: str) -> list[Statement]:
    """`import torch.nn` and `import torch.optim` bind the same name: the job needs both."""
    return [
        statement
        for cell in history
        for statement in cell.statements
        if isinstance(statement.node, ast.Import) and name in statement.names.bound
    ]


def _check_sent(send: Collection[str], namespace: Mapping[str, Any]) -> None:
    for name in send:
        if name not in namespace:
            raise fail("bad_request", field="--send", value=name, problem="the notebook has no such variable")


def _refuse(needs: _Needs, last: Mapping[str, Statement]) -> None:
    if needs.refused:
        told = [f"{name} ({_origin(name, last)}{why})" for name, why in sorted(needs.refused.items())]
        raise fail("unpicklable", field="variables", value=sorted(needs.refused), names=told)
    for name, size in sorted(needs.too_large.items()):
        raise fail(
            "too_large",
            field=f"{name} ({_origin(name, last).removesuffix(', ')})",
            value=name,
            size=size,
            limit=format_bytes(values.LIMIT),
            remedy=f"Save it to the workspace and load it in the job, or name it: --send {name}",
            remedy_zh=f"请保存到工作区并在任务中读取，或指明：--send {name}",
        )


def _origin(name: str, last: Mapping[str, Statement]) -> str:
    return f"{last[name].cell.file}, " if name in last else ""


def _limited(bundle: Bundle) -> Bundle:
    size = len(bundle.values) + sum(map(len, bundle.files.values()))
    if size > MAX_BYTES:
        raise fail("too_large", field="bundle", size=format_bytes(size), limit=format_bytes(MAX_BYTES))
    return bundle
