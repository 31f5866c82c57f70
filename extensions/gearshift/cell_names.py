"""Which names a piece of code reads and binds, seen in its byte code: what is read now, what when it is called."""

from __future__ import annotations

import ast
import dis
import inspect
from dataclasses import dataclass
from types import CodeType

READS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF", "DELETE_NAME"}
BINDS = {"STORE_NAME", "STORE_GLOBAL"}
INLINE = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


@dataclass(frozen=True)
class Names:
    """`now`: read at top level before it was bound there. `later`: read inside functions. `bound`: bound at top."""

    now: frozenset[str]
    later: frozenset[str]
    bound: frozenset[str]

    @property
    def needed(self) -> frozenset[str]:
        """What must come from elsewhere for the code to run."""
        return self.now | (self.later - self.bound)


def of_tree(tree: ast.Module) -> Names:
    return of_code(compile(tree, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))


def of_code(code: CodeType) -> Names:
    now: set[str] = set()
    later: set[str] = set()
    bound: set[str] = set()
    for instruction in dis.get_instructions(code):
        value = instruction.argval
        if isinstance(value, CodeType):
            if _runs_at_once(value):
                inner = of_code(value)
                now |= inner.now - bound
                later |= inner.later
            else:
                later |= _read_anywhere(value)
        elif instruction.opname in BINDS:
            bound.add(str(value))
        elif instruction.opname in READS and value not in bound:
            now.add(str(value))
    return Names(frozenset(now), frozenset(later), frozenset(bound))


def _runs_at_once(code: CodeType) -> bool:
    """Class bodies and comprehensions; what they bind stays their own."""
    is_class_body = not code.co_flags & inspect.CO_OPTIMIZED
    return is_class_body or code.co_name in INLINE


def _read_anywhere(code: CodeType) -> set[str]:
    names = of_code(code)
    return set(names.now | names.later)
