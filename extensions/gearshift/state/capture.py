"""Turns a namespace into streams: every variable is tried alone, linked ones are then written together.

A *node* is a value under one or more names, or a class or function that others need. One that cannot be written takes
nobody along but those that need it.
"""

from __future__ import annotations

import io
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gearshift.state import functions, links, pickler
from gearshift.state.bounded import LEAST_S, OBJECT_S, TookTooLong, attempt
from gearshift.state.kinds import name_of
from gearshift.state.memory import Memory
from gearshift.state.name_only import name_only_reference
from gearshift.state.pickler import Stream
from gearshift.state.refusal import explain, told
from gearshift.state.report import Reason


@dataclass
class Node:
    """One value: its names (none for a class that only others use) and what trying it alone gave."""

    number: int
    value: Any
    names: list[str] = field(default_factory=list)
    stream: Stream = field(default_factory=Stream)
    parts: dict[int, Any] = field(default_factory=dict)
    failure: Reason | None = None
    bytes: int = 0

    def label(self) -> str:
        """As a sentence names it."""
        if self.names:
            return self.names[0]
        known = isinstance(self.value, types.FunctionType)
        return str(self.value.__qualname__) if known else name_of(self.value)


@dataclass
class Group:
    """Nodes that are written as one stream: a list of their values."""

    nodes: list[Node]
    stream: Stream


class Capture:
    """One look at a namespace. Holds references to everything it met until it is dropped."""

    def __init__(
        self,
        ns: dict[str, Any],
        variables: Iterable[tuple[str, Any]],
        singles: Mapping[int, tuple[Any, ...]],
        seconds: float = OBJECT_S,
    ) -> None:
        self.ns = ns
        self._seconds = seconds
        self.singles = singles
        self.memory = Memory()
        self.namespaces = functions.Namespaces(ns)
        self.nodes: list[Node] = []
        self._by_id: dict[int, Node] = {}
        self._current = Stream()
        self.rules = pickler.rules(
            self.memory,
            self._note,
            self._saw,
        )
        for name, value in variables:
            self._node(value).names.append(name)
        self._named_functions = frozenset(
            id(n.value) for n in self.nodes if type(n.value) is types.FunctionType
        )
        self._try_all()
        self._pass_failures_on()
        self._count_bytes()

    def defines(self, thing: Any) -> int | None:
        """The number of a class, or of a function that has a name in the namespace."""
        if type(thing) is types.FunctionType and id(thing) not in self._named_functions:
            return None
        return self._node(thing).number

    def groups(self) -> list[Group]:
        """What is to be written, in order. Nodes that fail together but not alone are written alone."""
        found: list[Group] = []
        for numbers in self._grouping().all(n.number for n in self.nodes if n.failure is None):
            nodes = [self.nodes[number] for number in numbers]
            found.extend(self._write_together(nodes))
        return found

    def _note(self, code: str, **words: str) -> None:
        self._current.notes[code] = words

    def _saw(self, device: str) -> None:
        self._current.devices.add(device)

    def _node(self, value: Any) -> Node:
        known = self._by_id.get(id(value))
        if known is None:
            known = Node(len(self.nodes), value)
            self.nodes.append(known)
            self._by_id[id(value)] = known
        return known

    def _try_all(self) -> None:
        """Trying a node may find classes that become nodes themselves."""
        done = 0
        while done < len(self.nodes):
            node = self.nodes[done]
            node.failure = self._try(node)
            done += 1

    def _try(self, node: Node) -> Reason | None:
        dump = _Dump(self, [node.value], node.stream)
        error = self._run(dump)
        if error is not None:
            node.stream.sink, node.stream.buffers = io.BytesIO(), []
            last = dump.writer.last
            return explain(node.value, node.value if last is None else last, error)
        parts, error = attempt(lambda: links.shared_parts(dump.met, self._named_functions))
        if error is not None:
            return explain(node.value, node.value, error)
        node.parts = parts or {}
        name = name_only_reference(node.stream.sink.getbuffer())
        return Reason("name_only", {"culprit": name}) if name else None

    def _run(self, dump: _Dump) -> BaseException | None:
        """Whatever their own code raises is a reason to be told; one that hangs leaves less time to the next."""
        self._current, self.memory.used = dump.stream, dump.stream.segments
        _, error = attempt(dump.run, self._seconds, dump.writer.progress)
        if isinstance(error, TookTooLong):
            self._seconds = max(self._seconds / 2, LEAST_S)
        return error

    def _pass_failures_on(self) -> None:
        """Whoever needs a class or function that cannot travel cannot travel either."""
        changed = True
        while changed:
            changed = False
            for node in self.nodes:
                lost = [self.nodes[n] for n in sorted(node.stream.needs) if self.nodes[n].failure is not None]
                if node.failure is None and lost:
                    node.failure = Reason("depends", {"culprit": lost[0].label()})
                    changed = True

    def _count_bytes(self) -> None:
        """Shared memory is counted once, for the first that holds it."""
        seen: set[int] = set()
        for node in self.nodes:
            if node.failure is not None:
                continue
            stream = node.stream
            roots = {id(s.root): s.root for s in stream.segments.values()}
            inside = sum(root.nbytes for key, root in roots.items() if key not in seen)
            seen.update(roots)
            beside = sum(b.nbytes for b in stream.buffers) - sum(s.nbytes for s in stream.segments.values())
            node.bytes = stream.sink.getbuffer().nbytes - len(pickler.PREFIX) + inside + max(beside, 0)

    def _grouping(self) -> links.Groups:
        groups = links.Groups(len(self.nodes))
        whole = [n for n in self.nodes if n.failure is None]
        for node in whole:
            groups.hold(node.number, node.parts)
            groups.hold(node.number, (("memory", id(s.root)) for s in node.stream.segments.values()))
        for one, other in links.cycles({n.number: n.stream.needs for n in whole}):
            groups.join(one, other)
        return groups

    def _write_together(self, nodes: list[Node]) -> list[Group]:
        if len(nodes) == 1 and not _is_outdated(nodes[0]):
            return [Group(nodes, nodes[0].stream)]
        stream = Stream()
        error = self._run(_Dump(self, [n.value for n in nodes], stream))
        if error is not None:
            for node in nodes:
                node.stream.notes["link_lost"] = {"other": _others(node, nodes)}
                if _is_outdated(node):
                    node.failure = Reason("refuses", {"error": told(error)})
            return [Group([n], n.stream) for n in nodes if n.failure is None]
        return [Group(nodes, stream)]


class _Dump:
    """One stream being written, and what was met on the way."""

    def __init__(self, capture: Capture, values: list[Any], stream: Stream) -> None:
        self.stream = stream
        self.writer = pickler.Pickler(capture, stream, frozenset(id(value) for value in values))
        self.met: dict[int, tuple[int, Any]] = {}
        self._values, self._ns = values, capture.ns

    def run(self) -> None:
        self.writer.dump(self._values)
        self.met = self.writer.memo.copy()
        self.met.pop(id(self._values), None)
        self.met.pop(id(self._ns), None)


def _others(node: Node, nodes: list[Node]) -> str:
    return ", ".join(other.label() for other in nodes if other is not node)


def _is_outdated(node: Node) -> bool:
    """Written before its memory was found to be part of something larger."""
    return any(segment.merged_into is not None for segment in node.stream.segments.values())
