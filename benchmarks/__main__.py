"""Knows which rows there are: `python -m benchmarks` lists them, `python -m benchmarks NAME` measures one.

Exit status 0 when measured, whatever the figure; 2 when a row could not be measured (it says why).
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from benchmarks.measure import CannotMeasure

SUPPORT = {"measure", "ours", "stock", "browser", "loaded_kernel", "__main__"}


def rows() -> list[str]:
    return [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name not in SUPPORT]


def measure(name: str) -> int:
    if name not in rows():
        print(f"no row named {name!r}; there are: {', '.join(rows())}", file=sys.stderr)
        return 2
    try:
        importlib.import_module(f"benchmarks.{name}").main()
    except CannotMeasure as reason:
        print(f"{name}: could not be measured: {reason}", file=sys.stderr)
        return 2
    return 0


def main(argv: list[str]) -> int:
    if argv == ["--all"]:
        return max(measure(name) for name in rows())
    if not argv:
        print("\n".join(rows()))
        return 0
    return max(measure(name) for name in argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
