"""Reading what another Python wrote: no code of it is made here; what has source is made from that, the rest is named."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from gearshift.state import sources
from gearshift.state.bounded import attempt
from gearshift.state.refusal import Refusal, told
from gearshift.state.report import Reason
from gearshift.state.tolerant import Hole

LookUp = Callable[[str, str], Any]


def without_code(look_up: LookUp, words: Mapping[str, str]) -> LookUp:
    """Finds everything but the maker of code objects: byte code of another version would crash when it is called."""

    def refuse(*_: Any) -> Any:
        raise Refusal("other_python", words=words)

    def find(module: str, name: str) -> Any:
        found = look_up(module, name)
        if found is types.CodeType:
            return refuse
        if name == "_builtin_type":
            return lambda kind: refuse if kind == "CodeType" else found(kind)
        return found

    return find


def from_source(
    node: Mapping[str, Any], ns: dict[str, Any], words: Mapping[str, str]
) -> tuple[Any, Reason | None]:
    """The value, with a note; or a hole."""
    source = node["source"]
    made, error = attempt(lambda: sources.make(source, node["names"][0], ns))
    if error is not None:
        return Hole(Reason("load_raises", {"error": told(error)})), None
    return made, Reason("from_source", {**words, "cell": str(source["cell"])})
