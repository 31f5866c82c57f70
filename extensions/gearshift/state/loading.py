"""Loads what was saved into a namespace; what cannot be loaded is named and takes nobody along."""

from __future__ import annotations

import contextlib
import io
import pickle
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from gearshift.state import foreign, namespace, packages, sources, surroundings
from gearshift.state.bounded import OBJECT_S, attempt, unbounded
from gearshift.state.capture import Capture
from gearshift.state.container import Reader, Refused
from gearshift.state.fingerprint import fingerprint
from gearshift.state.judging import tell
from gearshift.state.rebuild import LOADING
from gearshift.state.refusal import Refusal, told
from gearshift.state.remaking import Remaking
from gearshift.state.report import Outcome, Reason, Report, Variable, Verdict
from gearshift.state.rerunning import RERUN_S, run_again
from gearshift.state.saving import FORMAT, python_of, undisturbed
from gearshift.state.tolerant import MARK, Hole, TolerantUnpickler

LOAD_FACTOR = 4
"""Loading runs imports that nobody sees, and its progress is not seen either: it gets more time than writing."""

SLOWEST = 1 << 20
"""Bytes a second that even the slowest objects are read at."""

LONGEST_S = 120.0
"""For the thorough reading of one group."""


def load(
    path: str | Path,
    ns: dict[str, Any],
    key: bytes,
    rerun: Collection[str] = (),
    rerun_seconds: float = RERUN_S,
    *,
    object_seconds: float = OBJECT_S,
) -> Report:
    """Puts everything back, then runs the cells of the names in `rerun` again: a person agreed to those, and to no
    others. Raises `Refused` before anything is used when the file is changed, damaged or not ours."""
    started = time.perf_counter()
    reader = Reader(Path(path), key)
    if reader.index.get("format") != FORMAT:
        raise Refused(f"the file has format {reader.index.get('format')!r}, known is {FORMAT}")
    around = reader.index["around"]
    notes = surroundings.before(ns, around)
    restore = Restore(reader, ns, object_seconds)
    with undisturbed():
        restore.all()
    notes += surroundings.shell(ns, around)
    variables = restore.records([Variable.from_json(body) for body in reader.index["variables"]], around)
    run_again(ns, variables, rerun, rerun_seconds, surroundings.cells_of(around))
    notes += surroundings.after(around)
    size = sum(v.bytes for v in variables if v.verdict is Verdict.COPY)
    return Report(variables, size, time.perf_counter() - started, [*notes, *restore.notes], str(path))


class Restore:
    """One load: streams are read when they are needed, each once."""

    def __init__(self, reader: Reader, ns: dict[str, Any], seconds: float) -> None:
        self.ns = ns
        self._seconds = seconds
        self.private: dict[int, dict[str, Any]] = {}
        self.notes: list[Reason] = []
        self._reader = reader
        self._nodes: dict[int, dict[str, Any]] = {int(k): v for k, v in reader.index["nodes"].items()}
        self._group_of = {number: g for g in reader.index["groups"] for number in g["nodes"]}
        self._values: dict[int, Any] = {}
        self._failures: dict[int, Reason] = {}
        self._open: set[int] = set()
        self._told: dict[int, list[Reason]] = {}
        theirs, ours = python_of(reader.index)
        self._other = {"old": theirs, "new": ours} if theirs != ours else {}
        self._names = {name: number for number, node in self._nodes.items() for name in node["names"]}

    def all(self) -> None:
        """Everything, bound to its names."""
        token = LOADING.set(self)
        try:
            for number in sorted(self._nodes, key=self._is_data):
                self._ensure(number)
                self._bind(number)
        finally:
            LOADING.reset(token)
        for number in self._nodes:
            self._bind(number)
        for number, value in self._values.items():
            if fingerprint(value, self.ns) != self._nodes[number]["print"]:
                self._failures[number] = Reason("changed")

    def _is_data(self, number: int) -> bool:
        """Data comes last: its own code for loading finds the modules and functions that it uses."""
        return bool(self._nodes[number]["data"])

    def _bind(self, number: int) -> None:
        """Again at the end, so that the order of names is as it was."""
        for name in self._nodes[number]["names"] if number in self._values else ():
            self.ns.pop(name, None)
            namespace.bind(self.ns, name, self._values[number])

    def definition(self, number: int) -> Any:
        """A class or function by its number."""
        self._ensure(number)
        if number in self._failures:
            raise Refusal("depends", words={"culprit": self._nodes[number]["label"]})
        return self._values[number]

    def records(self, variables: list[Variable], around: Mapping[str, Any]) -> list[Variable]:
        """The saved records with what became of them here, and a way back for what was lost only now."""
        lost = [variable for variable in variables if not self._record(variable)]
        if lost:
            travels = {v.name for v in variables if v.outcome is Outcome.COPIED}
            remaking = Remaking(surroundings.history(around), travels)
            for variable in lost:
                tell(variable, remaking.of(variable.name), surroundings.seconds(around))
        return variables

    def _record(self, variable: Variable) -> bool:
        """False for what should have been copied and was not."""
        number = self._names.get(variable.name)
        if variable.verdict is not Verdict.COPY or number is None:
            variable.outcome = Outcome.LOST if variable.is_lost else Outcome.LEFT_OUT
            return True
        variable.notes += self._told.get(number, [])
        variable.reason = self._failures.get(number)
        variable.outcome = Outcome.LOST if variable.reason else Outcome.COPIED
        return variable.reason is None

    def _ensure(self, number: int) -> None:
        if number in self._values or number in self._failures:
            return
        group = self._group_of[number]
        if id(group) in self._open:
            # cycles are written as one group; a file that says otherwise must not hang us
            raise Refusal("depends", words={"culprit": self._nodes[number]["label"]})
        refused = packages.refused(group["packages"], self._reader.index["packages"])
        if refused is not None:
            self._failures.update(dict.fromkeys(group["nodes"], refused))
            return
        noted = len(self.notes)
        self._open.add(id(group))
        values = self._foreign_values_of(group) if group["code"] and self._other else self._values_of(group)
        self._open.discard(id(group))
        told, self.notes[noted:] = self.notes[noted:], []
        for member, value in zip(group["nodes"], values, strict=True):
            self._told[member] = _once(told)
            if type(value) is Hole:
                self._failures[member] = value.reason
            else:
                self._values[member] = value

    def _values_of(self, group: dict[str, Any]) -> list[Any]:
        """Whatever their own code raises, the thorough reading finds whose it is."""
        noted = len(self.notes)
        values, _ = attempt(
            lambda: self._read(group), LOAD_FACTOR * self._seconds + group["stream"][1] / SLOWEST
        )
        if values is not None:
            return values
        del self.notes[noted:]
        return self._thorough_values_of(group)

    def _thorough_values_of(self, group: dict[str, Any]) -> list[Any]:
        values, failed = attempt(lambda: self._read_tolerantly(group), LONGEST_S)
        if values is not None:
            return values
        return [Hole(Reason("load_raises", {"error": told(failed) if failed else ""}))] * len(group["nodes"])

    def _foreign_values_of(self, group: dict[str, Any]) -> list[Any]:
        """Written by another Python: what has source is made from it, once all that it needs is there."""
        numbers: list[int] = group["nodes"]
        sourced = [n for n in numbers if self._nodes[n]["source"]]
        is_whole = len(sourced) == len(numbers)
        values = [None] * len(numbers) if is_whole else self._thorough_values_of(group)
        for number in sourced:
            node = self._nodes[number]
            for name in sources.needed(node["source"]) & self._names.keys() - set(node["names"]):
                self._provide(self._names[name])
            value, note = foreign.from_source(node, self.ns, self._other)
            values[numbers.index(number)] = value
            self.notes += [note] if note else []
        return values

    def _provide(self, number: int) -> None:
        """Bound to its names before others are: a definition that runs again looks for it there."""
        if id(self._group_of[number]) not in self._open:
            self._ensure(number)
            self._bind(number)

    def _read(self, group: dict[str, Any]) -> list[Any]:
        with self._stream(group) as (file, buffers):
            reader = _Unpickler(file, buffers=buffers)
            reader.load()  # the prefix: the namespace takes its place in the memo
            values: list[Any] = reader.load()
            return values

    def _read_tolerantly(self, group: dict[str, Any]) -> list[Any]:
        """With holes where objects could not be made; variables that reach one become the hole."""
        with self._stream(group) as (file, buffers):
            look_up: foreign.LookUp = _Unpickler(io.BytesIO(), buffers=()).find_class
            if self._other:
                look_up = foreign.without_code(look_up, self._other)
            reader = TolerantUnpickler(file, buffers, look_up, self._seconds)
            reader.load()
            values: Any = reader.load()
        if type(values) is Hole:
            return [values] * len(group["nodes"])
        return [_spoiled(self.ns, value) or value for value in values]

    @contextlib.contextmanager
    def _stream(self, group: dict[str, Any]) -> Iterator[tuple[io.BytesIO, list[memoryview]]]:
        with io.BytesIO(self._reader.view(group["stream"])) as file:
            yield file, [self._reader.view(span) for span in group["buffers"]]


class _Unpickler(pickle.Unpickler):
    """The fast one."""

    def find_class(self, module: str, name: str) -> Any:
        """An import may take long on a cold machine: that is no object's fault."""
        with unbounded():
            return super().find_class(module, name)


def _spoiled(ns: dict[str, Any], value: Any) -> Hole | None:
    """The hole that a value is, or reaches."""
    if type(value) is Hole:
        return value
    look = Capture(ns, [("value", value)], {})
    reason = look.nodes[0].failure
    if reason is None or not (MARK in reason.words or reason.code == "depends"):
        return None
    return Hole(Reason(reason.code, {k: v for k, v in reason.words.items() if k != MARK}))


def _once(notes: list[Reason]) -> list[Reason]:
    found: list[Reason] = []
    for note in notes:
        if note not in found:
            found.append(note)
    return found
