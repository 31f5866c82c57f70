"""Plans and saves the variables of a namespace."""

from __future__ import annotations

import contextlib
import gc
import platform
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from gearshift.state import cells, files, namespace, rebuild, surroundings
from gearshift.state.capture import Capture, Group, Node
from gearshift.state.container import Writer
from gearshift.state.fingerprint import fingerprint
from gearshift.state.functions import standard_streams
from gearshift.state.reasons import PROCESS_BOUND
from gearshift.state.refusal import type_name
from gearshift.state.report import Plan, Reason, Report, Variable, Verdict

FORMAT = 1
LARGE_OUTPUT = 1 << 20


def plan(ns: dict[str, Any], leave_out: Collection[str] = ()) -> Plan:
    """What would become of each variable. Nothing is changed and nothing is written."""
    started = time.perf_counter()
    with collector_off():
        capture = _capture(ns, leave_out)
    variables = list(_records(ns, capture, leave_out))
    size = sum(node.bytes for node in capture.nodes if node.failure is None)
    return Plan(variables, size, time.perf_counter() - started)


def save(ns: dict[str, Any], path: str | Path, key: bytes, leave_out: Collection[str] = ()) -> Report:
    """Writes all that can travel to `path`, signed with `key`; names the rest. The namespace is not changed.

    Raises `DiskFull` or another `StateError`, and then leaves nothing behind."""
    started = time.perf_counter()
    around = surroundings.read(ns)
    with collector_off():
        capture = _capture(ns, leave_out)
        groups = capture.groups()
    _flush_files(ns)
    variables = list(_records(ns, capture, leave_out))
    with Writer(Path(path), key) as writer:
        index = {
            "format": FORMAT,
            "python": platform.python_version(),
            "around": around,
            "groups": [_put(writer, group) for group in groups],
            "nodes": {str(n.number): _node(n, ns) for g in groups for n in g.nodes},
            "variables": [v.to_json() for v in variables],
        }
        size = writer.finish(index)
    return Report(variables, size, time.perf_counter() - started, path=str(path))


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Millions of objects are met and none becomes garbage: looking for some would take most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _capture(ns: dict[str, Any], leave_out: Collection[str]) -> Capture:
    kept = ((name, value) for name, value in namespace.variables(ns) if name not in leave_out)
    singles = dict(standard_streams())
    shell = namespace.shell_of(ns)
    if shell is not None:
        singles[id(shell)] = (rebuild.shell, ())
    return Capture(ns, kept, singles)


def _put(writer: Writer, group: Group) -> dict[str, Any]:
    """One stream and its buffers."""
    return {
        "nodes": [node.number for node in group.nodes],
        "stream": writer.put(group.stream.sink.getbuffer()),
        "buffers": [writer.put(buffer) for buffer in group.stream.buffers],
        "code": group.stream.has_code,
    }


def _node(node: Node, ns: dict[str, Any]) -> dict[str, Any]:
    return {"names": node.names, "label": node.label(), "print": fingerprint(node.value, ns)}


def _records(ns: dict[str, Any], capture: Capture, leave_out: Collection[str]) -> Iterator[Variable]:
    """One per name. Cached outputs are told of only when they are lost or large: they are no names of one's own."""
    made_by = cells.binders(namespace.history(ns))
    by_name = {name: node for node in capture.nodes for name in node.names}
    for name, value in namespace.variables(ns):
        node = by_name.get(name)
        variable = Variable(name, type_name(value), kind_of(value), "", 0, cells=made_by.get(name, []))
        if node is None:
            variable.verdict, variable.reason = Verdict.LEFT_OUT, Reason("left_out")
        else:
            _fill(variable, node)
        is_output = namespace.OUTPUT.match(name)
        if is_output:
            variable.cells = [int(is_output[1])]
        counts = variable.reason is not None or variable.bytes > LARGE_OUTPUT
        if not is_output or (counts and node is not None and node.names[0] == name):
            yield variable


def _fill(variable: Variable, node: Node) -> None:
    variable.where = ", ".join(sorted(node.stream.devices)) or "cpu"
    variable.reason = node.failure
    if node.failure is not None:
        variable.where = "process" if node.failure.code in PROCESS_BOUND else variable.where
        rebuilt = bool(variable.cells) and node.failure.code not in PROCESS_BOUND
        variable.verdict = Verdict.RERUN if rebuilt else Verdict.CANNOT_MOVE
        return
    if node.names[0] == variable.name:
        variable.bytes = node.bytes
    else:
        variable.notes.append(Reason("same_object", {"other": node.names[0]}))
    variable.notes += [Reason(code) for code in sorted(node.stream.notes)]


_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("module", (ModuleType,)),
    ("class", (type,)),
    ("function", (FunctionType, BuiltinFunctionType)),
)


def kind_of(value: Any) -> str:
    """`module`, `class`, `function`, or `data`: lists show data first."""
    return next((kind for kind, types in _KINDS if issubclass(type(value), types)), "data")


def _flush_files(ns: dict[str, Any]) -> None:
    """Files that stay behind at least hold all that was written."""
    for _, value in namespace.variables(ns):
        if type(value) in files.FILE_TYPES:
            files.flush(value)


def python_of(index: dict[str, Any]) -> tuple[str, str]:
    """Minor versions, theirs and ours: compiled code runs only on its own."""
    ours = ".".join(map(str, sys.version_info[:2]))
    return ".".join(str(index["python"]).split(".")[:2]), ours
