"""The person's own modules that a cell imports: source files beside the notebook, not installed packages."""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path

MAX_BYTES = 4 * 1024**2


def imported(sources: Iterable[str]) -> set[str]:
    """Top-level names of the modules that these sources import."""
    found: set[str] = set()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found


def own_files(roots: Iterable[str], folder: Path) -> dict[str, bytes]:
    """Files of the modules below `folder` and of those that they import in turn."""
    files: dict[str, bytes] = {}
    todo, seen = set(roots), set[str]()
    while todo:
        name = todo.pop()
        seen.add(name)
        added = _files_of(name, folder)
        files |= added
        sources = (data.decode(errors="replace") for data in added.values())
        todo |= imported(source for source in sources if _parses(source)) - seen
    return files


def _files_of(name: str, folder: Path) -> dict[str, bytes]:
    spec = PathFinder.find_spec(name, [str(folder)])
    if name in sys.stdlib_module_names or spec is None or not spec.origin:
        return {}
    origin = Path(spec.origin).resolve()
    if origin.suffix != ".py" or _installed(origin):
        return {}
    if origin.name != "__init__.py":
        return {origin.name: origin.read_bytes()}
    package = origin.parent
    paths = sorted(path for path in package.rglob("*.py") if path.is_file())
    return {str(path.relative_to(package.parent)): path.read_bytes() for path in paths}


def _installed(path: Path) -> bool:
    places = {Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib")}
    return any(path.is_relative_to(place) for place in places)


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True
