"""Knows which names of a kernel's namespace are the person's, and which are IPython's own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from gearshift import cell_clock

_HISTORY = ("In", "Out", "_", "__", "___", "_i", "_ii", "_iii", "_ih", "_oh", "_dh")
_MODULE = ("name", "doc", "package", "loader", "spec", "builtin", "builtins", "file", "cached", "annotations")
_OWN = frozenset({*_HISTORY, *(f"__{name}__" for name in _MODULE)})
_NUMBERED = re.compile(r"_i?\d+\Z")
_ABSENT = object()
OUTPUT = re.compile(r"Out\[(\d+)\]\Z")


def shell_of(ns: Mapping[str, Any]) -> Any | None:
    """The IPython shell whose namespace this is; None for a plain dict."""
    core = sys.modules.get("IPython")
    shell = core.get_ipython() if core is not None else None
    return shell if shell is not None and shell.user_ns is ns else None


def own() -> dict[str, Any]:
    """The namespace of the kernel that this runs in."""
    ns: dict[str, Any] = sys.modules["IPython"].get_ipython().user_ns
    return ns


def variables(ns: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The person's names in the order they were bound, then cached outputs as `Out[3]`."""
    shell = shell_of(ns)
    hidden: Mapping[str, Any] = shell.user_ns_hidden if shell is not None else {}
    for name, value in list(ns.items()):
        if not _is_own(name) and hidden.get(name, _ABSENT) is not value:
            yield name, value
    if shell is not None:
        for number, value in list(ns.get("_oh", {}).items()):
            yield f"Out[{number}]", value


def bind(ns: dict[str, Any], name: str, value: Any) -> None:
    """Puts a variable, or a cached output, where it was."""
    output = OUTPUT.match(name)
    if output is None:
        ns[name] = value
        return
    number = int(output[1])
    ns.setdefault("_oh", {})[number] = value
    ns[f"_{number}"] = value


def history(ns: Mapping[str, Any]) -> list[str]:
    """The cells that ran, by number (0 is never one)."""
    shell = shell_of(ns)
    return list(shell.history_manager.input_hist_parsed) if shell is not None else []


def seconds(ns: Mapping[str, Any]) -> dict[int, float]:
    """Cell number -> what it took, for the cells of this kernel that were timed."""
    return cell_clock.seconds() if shell_of(ns) is not None else {}


def _is_own(name: str) -> bool:
    return name in _OWN or not isinstance(name, str) or _NUMBERED.match(name) is not None
