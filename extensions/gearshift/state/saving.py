"""Plans and saves the variables of a namespace."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from gearshift.state import files, namespace, packages, rebuild, surroundings
from gearshift.state.bounded import OBJECT_S, watch
from gearshift.state.capture import Capture, Group, Node
from gearshift.state.container import Span, Writer
from gearshift.state.fingerprint import fingerprint
from gearshift.state.functions import standard_streams
from gearshift.state.judging import kind_of, records
from gearshift.state.memory import Segment
from gearshift.state.report import Plan, Report
from gearshift.state.sources import Sources

FORMAT = 1


def plan(ns: dict[str, Any], leave_out: Collection[str] = (), *, object_seconds: float = OBJECT_S) -> Plan:
    """What would become of each variable. Nothing is changed and nothing is written."""
    started = time.perf_counter()
    named = list(namespace.variables(ns))
    with undisturbed():
        capture = _capture(ns, named, leave_out, object_seconds)
    variables = records(ns, named, capture)
    size = sum(node.bytes for node in capture.nodes if node.failure is None)
    return Plan(variables, size, time.perf_counter() - started)


def save(
    ns: dict[str, Any],
    path: str | Path,
    key: bytes,
    leave_out: Collection[str] = (),
    *,
    object_seconds: float = OBJECT_S,
    durable: bool = True,
) -> Report:
    """Writes all that can travel to `path`, signed with `key`; names the rest. The namespace is not changed. `durable`:
    it outlives a power cut when this returns.

    Raises `DiskFull` or another `StateError`, and then leaves nothing behind."""
    started = time.perf_counter()
    around = surroundings.read(ns)
    named = list(namespace.variables(ns))
    with undisturbed():
        capture = _capture(ns, named, leave_out, object_seconds)
        groups = capture.groups()
        found = Sources(namespace.history(ns))
        nodes = {str(node.number): _node(node, ns, found) for group in groups for node in group.nodes}
    _flush_files(named)
    variables = records(ns, named, capture)
    with Writer(Path(path), key) as writer:
        index = {
            "format": FORMAT,
            "python": platform.python_version(),
            "image": os.environ.get("GEARSHIFT_IMAGE"),
            "packages": packages.versions({root for g in groups for root in g.stream.packages}),
            "around": around,
            "groups": [_put(writer, group) for group in groups],
            "nodes": nodes,
            "variables": [v.to_json() for v in variables],
        }
        size = writer.finish(index, durable=durable)
    return Report(variables, size, time.perf_counter() - started, path=str(path))


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Millions of objects are met and none becomes garbage: looking for some would take most of the time. Anybody's
    code runs, so it is watched."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        with watch():
            yield
    finally:
        if was_on:
            gc.enable()


def _capture(
    ns: dict[str, Any], named: list[tuple[str, Any]], leave_out: Collection[str], seconds: float
) -> Capture:
    kept = ((name, value) for name, value in named if name not in leave_out)
    singles = dict(standard_streams())
    shell = namespace.shell_of(ns)
    if shell is not None:
        singles[id(shell)] = (rebuild.shell, ())
    there = dict(ns)
    capture = Capture(ns, kept, singles, seconds)
    if len(there) != len(ns) or any(ns.get(name, capture) is not value for name, value in there.items()):
        ns.clear()  # their own code changed it while it was asked to save itself
        ns.update(there)
    return capture


def _put(writer: Writer, group: Group) -> dict[str, Any]:
    """One stream and its buffers."""
    return {
        "nodes": [node.number for node in group.nodes],
        "stream": writer.put(group.stream.sink.getbuffer()),
        "buffers": [_put_buffer(writer, buffer) for buffer in group.stream.buffers],
        "code": group.stream.has_code,
        "packages": sorted(group.stream.packages),
    }


def _put_buffer(writer: Writer, buffer: memoryview | Segment) -> Span:
    return (
        writer.put(buffer)
        if isinstance(buffer, memoryview)
        else writer.put_all(buffer.pieces(), buffer.nbytes)
    )


def _node(node: Node, ns: dict[str, Any], sources: Sources) -> dict[str, Any]:
    is_data = kind_of(node.value) == "data"
    source = next(
        (s for s in (sources.of(n, node.value) for n in node.names if node.stream.has_code) if s), None
    )
    return {
        "names": node.names,
        "source": source.to_json() if source else None,
        "label": node.label(),
        "data": is_data,
        "print": fingerprint(node.value, ns),
    }


def _flush_files(named: list[tuple[str, Any]]) -> None:
    """Files that stay behind at least hold all that was written."""
    for _, value in named:
        if type(value) in files.FILE_TYPES:
            files.flush(value)


def python_of(index: dict[str, Any]) -> tuple[str, str]:
    """Minor versions, theirs and ours: compiled code runs only on its own."""
    ours = ".".join(map(str, sys.version_info[:2]))
    return ".".join(str(index["python"]).split(".")[:2]), ours
