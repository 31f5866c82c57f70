"""Finds objects that were written as a bare name of `__main__`: they cannot be found in a new kernel."""

from __future__ import annotations

import pickletools
import re

_MAIN = re.compile(rb"__main__")
_STRINGS = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_GETS = frozenset({"BINGET", "LONG_BINGET", "GET"})
LONGEST = 8 << 20
"""Streams beyond this are not read opcode by opcode; what is wrong in them is found on load."""


def name_only_reference(stream: memoryview) -> str | None:
    """The first name of `__main__` that the stream looks up; None when there is none."""
    if stream.nbytes > LONGEST or _MAIN.search(stream) is None:
        return None
    texts: list[str] = []
    memo: dict[int, str] = {}
    last: str | None = None
    data = bytes(stream)
    start = data.index(b".") + 1  # the prefix is a pickle of its own, and takes the first place of the memo
    stored = 1
    for opcode, arg, _ in pickletools.genops(data[start:]):
        if opcode.name in _STRINGS:
            last = str(arg)
            texts.append(last)
        elif opcode.name in _GETS:
            texts.append(memo.get(int(arg or 0), ""))
        elif opcode.name == "MEMOIZE":
            if last is not None:
                memo[stored] = last
            stored += 1
        elif opcode.name == "STACK_GLOBAL" and texts[-2:-1] == ["__main__"]:
            return texts[-1]
        if opcode.name not in _STRINGS:
            last = None
    return None
