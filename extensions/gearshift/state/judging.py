"""The record of each variable: what a capture found, the cells that make it again, and what those took."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from gearshift.state import cells, namespace
from gearshift.state.capture import Capture, Node
from gearshift.state.kinds import type_name
from gearshift.state.reasons import PROCESS_BOUND
from gearshift.state.remaking import Remake, Remaking
from gearshift.state.report import Reason, Variable, Verdict

LARGE_OUTPUT = 1 << 20


def records(ns: dict[str, Any], named: list[tuple[str, Any]], capture: Capture) -> list[Variable]:
    """One per name. Cached outputs are told of only when they are lost or large: they are no names of one's own."""
    history = namespace.history(ns)
    made_by = cells.binders(history)
    by_name = {name: node for node in capture.nodes for name in node.names}
    found: list[Variable] = []
    for name, value in named:
        node = by_name.get(name)
        variable = Variable(name, type_name(value), kind_of(value), "", 0, cells=made_by.get(name, []))
        if node is None:
            variable.verdict, variable.reason = Verdict.LEFT_OUT, Reason("left_out")
        else:
            _fill(variable, node)
        counts = variable.reason is not None or variable.bytes > LARGE_OUTPUT
        if not namespace.OUTPUT.match(name) or (counts and node is not None and node.names[0] == name):
            found.append(variable)
    _find_ways_back([v for v in found if v.is_lost], history, by_name, namespace.seconds(ns))
    return found


def verdict_of(failure: Reason, remake: Remake) -> Verdict:
    """What lives in the process is lost even where a cell makes another; what only holds such a thing is made again."""
    bound = failure.code in PROCESS_BOUND and "inside" not in failure.words
    return Verdict.RERUN if remake.cells and not remake.awaits and not bound else Verdict.CANNOT_MOVE


def tell(variable: Variable, remake: Remake, seen: dict[int, float]) -> None:
    """The verdict of a lost variable with its way back."""
    assert variable.reason is not None
    variable.verdict = verdict_of(variable.reason, remake)
    variable.cells, variable.seconds = list(remake.cells), remake.seconds(seen)
    for cell, doubts in remake.doubts.items():
        variable.notes.append(Reason("may_repeat", {"cell": str(cell), "what": ", ".join(doubts)}))
    variable.notes += [Reason("awaits", {"cell": str(cell)}) for cell in remake.awaits]


_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("module", (ModuleType,)),
    ("class", (type,)),
    ("function", (FunctionType, BuiltinFunctionType)),
)


def kind_of(value: Any) -> str:
    """`module`, `class`, `function`, or `data`: lists show data first."""
    return next((kind for kind, types in _KINDS if issubclass(type(value), types)), "data")


def _fill(variable: Variable, node: Node) -> None:
    devices = sorted(node.stream.devices)
    variable.where = ", ".join(devices) or "cpu"
    variable.device = ", ".join(d for d in devices if d != "cpu") or None
    variable.reason = node.failure
    if node.failure is not None:
        variable.where = "process" if node.failure.code in PROCESS_BOUND else variable.where
        variable.verdict = Verdict.CANNOT_MOVE
        return
    if node.names[0] == variable.name:
        variable.bytes = node.bytes
    else:
        variable.notes.append(Reason("same_object", {"other": node.names[0]}))
    variable.notes += [Reason(code, words) for code, words in sorted(node.stream.notes.items())]


def _find_ways_back(
    lost: list[Variable], history: list[str], by_name: dict[str, Node], seen: dict[int, float]
) -> None:
    """The history is analysed only when something is lost."""
    if not lost:
        return
    remaking = Remaking(history, {name for name, node in by_name.items() if node.failure is None})
    for variable in lost:
        output = namespace.OUTPUT.match(variable.name)
        tell(variable, Remake((int(output[1]),)) if output else remaking.of(variable.name), seen)
