"""What a stream's text looks like: carriage return and backspace act on its open last line, as in JupyterLab."""

from __future__ import annotations

import re

_MARKS = re.compile(r"([\n\r\b])")


class StreamText:
    """Closed lines never change again; the open one may be written over."""

    def __init__(self) -> None:
        self._closed: list[str] = []
        self._fresh: list[str] = []
        self._open, self._at = "", 0
        self._shown = ""

    def feed(self, text: str) -> int:
        """Take what was printed; how many characters were closed by it."""
        before = len(self._fresh)
        for part in _MARKS.split(text):
            if part == "\n":
                self._fresh.append(self._open + "\n")
                self._open, self._at = "", 0
            elif part == "\r":
                self._at = 0
            elif part == "\b":
                self._erase()
            elif part:
                self._print(part)
        return sum(len(line) for line in self._fresh[before:])

    def _print(self, part: str) -> None:
        end = self._at + len(part)
        if self._at == len(self._open):
            self._open += part
        else:
            self._open = self._open[: self._at] + part + self._open[end:]
        self._at = end

    def _erase(self) -> None:
        if self._at:
            self._open = self._open[: self._at - 1] + self._open[self._at :]
            self._at -= 1

    def tail(self) -> tuple[str, str]:
        """What stands at the end of the text as it was last shown, and what must stand there now."""
        was, now = self._shown, "".join(self._fresh) + self._open
        self._closed += self._fresh
        self._fresh.clear()
        self._shown = self._open
        return was, now

    def whole(self) -> str:
        """All of it; from here on it counts as shown."""
        self.tail()
        return "".join(self._closed) + self._open


def changed_tail(was: str, now: str) -> tuple[int, str]:
    """How many bytes at the end must go, and what comes instead: positions in the document are UTF-8 bytes, and no cut
    may fall inside a character."""
    same = 0
    for one, other in zip(was, now, strict=False):
        if one != other:
            break
        same += 1
    return len(was[same:].encode()), now[same:]
