"""Which packages the objects of a stream come from, in which version, and whether this machine's can take them."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

from gearshift.state.report import Reason

_NO_STATE = frozenset({"numpy.dtype"})
"""Written the same way by every version."""


def root_of(thing: Any) -> str | None:
    """The package that a function or class is imported from."""
    module = getattr(thing, "__module__", None)
    if not isinstance(module, str) or f"{module}.{getattr(thing, '__name__', '')}" in _NO_STATE:
        return None
    return module.partition(".")[0]


def versions(roots: Iterable[str]) -> dict[str, tuple[str, bool]]:
    """Version, and whether some of it is compiled; packages without a version are left out."""
    compiled = {name.partition(".")[0] for name, module in list(sys.modules.items()) if _is_compiled(module)}
    found = {root: _version(root) for root in sorted(roots)}
    return {root: (version, root in compiled) for root, version in found.items() if version}


def refused(roots: Iterable[str], saved: Mapping[str, Any]) -> Reason | None:
    """Compiled objects of another major version cannot be taken; a package that is missing says so itself."""
    for root in roots:
        version, compiled = saved.get(root, ("", False))
        if not compiled:
            continue
        try:
            importlib.import_module(root)
        except Exception:  # noqa: S112 - told by name when the stream asks for it
            continue
        here = _version(root)
        if here and _major(here) != _major(version):
            return Reason("other_version", {"package": root, "old": version, "new": here})
    return None


def _version(root: str) -> str:
    module = sys.modules.get(root)
    found = vars(module).get("__version__") if isinstance(module, types.ModuleType) else None
    return found if isinstance(found, str) else ""


def _major(version: str) -> str:
    return version.partition(".")[0]


def _is_compiled(module: Any) -> bool:
    file = vars(module).get("__file__") if isinstance(module, types.ModuleType) else None
    return isinstance(file, str) and file.endswith((".so", ".pyd"))
