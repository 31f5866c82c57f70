"""The outputs of one cell as they are gathered from its kernel, and their way into the shared document.

The document's list is changed in place, never replaced: pages would lose their link to it (facts-lab, trap 5).
"""

from __future__ import annotations

import json
from typing import Any

from pycrdt import Array, Map, Text

from gearshift.lab.documents.plain_data import plain
from gearshift.lab.documents.plain_data import text as plain_text
from gearshift.lab.documents.terminal import StreamText, changed_tail

MOST_CHARACTERS = 10_000_000
MOST_OUTPUTS = 2_000
LARGE = 1_000_000
FULL = (
    f"A cell keeps at most {MOST_CHARACTERS // 1_000_000} million characters and {MOST_OUTPUTS:,} outputs: "
    "what it printed after this is not kept. The cell itself goes on.\n"
    f"一个单元格最多保留 {MOST_CHARACTERS // 1_000_000} 百万字符和 {MOST_OUTPUTS:,} 项输出：此后的输出未保留，"
    "单元格仍继续运行。\n"
)

Output = dict[str, Any]


class _Item:
    """A stream, or an output that is complete."""

    def __init__(self, output: Output, stream: StreamText | None = None) -> None:
        self.output, self.stream = output, stream

    def made(self) -> Map:
        if self.stream is None:
            return Map(plain(self.output))
        return Map({**self.output, "text": Text(self.stream.whole())})


class CellOutputs:
    """What a cell gave since it was started. `write_to` brings the document up to it."""

    def __init__(self, most_characters: int = MOST_CHARACTERS, most_outputs: int = MOST_OUTPUTS) -> None:
        self._items: list[_Item] = []
        self._written = 0
        self._changed: set[int] = set()
        self._clear_next = self._full = False
        self._characters = 0
        self._limits = most_characters, most_outputs

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_large(self) -> bool:
        """Too large to be kept after the end of its cell."""
        return self._characters > LARGE

    def print(self, name: str, text: str) -> None:
        """What was printed to a stream joins the stream before it."""
        self._before_new()
        if self._full:
            return
        if self._items and self._items[-1].stream is not None and self._items[-1].output["name"] == name:
            self._changed.add(len(self._items) - 1)
        else:
            self._items.append(_Item({"output_type": "stream", "name": name}, StreamText()))
        stream = self._items[-1].stream
        assert stream is not None
        room = max(self._limits[0] - self._characters, 0) + 1
        self._count(stream.feed(plain_text(text[:room])))

    def add(self, output: Output) -> int:
        """A rich output or an error; its place in the list, or -1 where it was not kept."""
        self._before_new()
        if self._full and output["output_type"] != "error":
            return -1
        self._items.append(_Item(output))
        place = len(self._items) - 1
        self._count(len(json.dumps(output, default=str)))
        return place

    def replace(self, place: int, data: Any, metadata: Any) -> None:
        """A display that was shown before has new content."""
        if 0 <= place < len(self._items) and self._items[place].stream is None:
            item = self._items[place]
            item.output = {**item.output, "data": data, "metadata": metadata}
            self._changed.add(place)

    def clear(self, wait: bool) -> None:
        """Now, or when the next output comes."""
        self._clear_next = True
        if not wait:
            self._before_new()

    def _before_new(self) -> None:
        if self._clear_next:
            self._items.clear()
            self._changed.clear()
            self._clear_next = self._full = False
            self._characters, self._written = 0, -1

    def _count(self, characters: int) -> None:
        self._characters += characters
        most_characters, most_outputs = self._limits
        if not self._full and (self._characters >= most_characters or len(self._items) >= most_outputs):
            self._full = True
            marker = StreamText()
            marker.feed(FULL)
            self._items.append(_Item({"output_type": "stream", "name": "stderr"}, marker))

    def write_again(self) -> None:
        """The document was made anew: all of it must be written."""
        self._written = -1

    def write_to(self, found: Array) -> None:
        """Within a transaction of the document. A list of another length was cleared by a person: what was in it is
        let go, and what comes is shown."""
        if self._written >= 0 and len(found) != self._written:
            self._let_go()
        if self._written < 0:
            found.clear()
            self._written = 0
            self._changed.clear()
        for place in sorted(self._changed):
            if place < self._written:
                self._update(found, place)
        self._changed.clear()
        for item in self._items[self._written :]:
            found.append(item.made())
        self._written = len(self._items)

    def _let_go(self) -> None:
        rest, open_item = self._items[self._written :], None
        if self._changed and 0 < self._written <= len(self._items):
            open_item = self._items[self._written - 1].stream and _rest_of(self._items[self._written - 1])
        self._items = [*([open_item] if open_item else []), *rest]
        self._written = -1

    def _update(self, found: Array, place: int) -> None:
        item = self._items[place]
        if item.stream is None:
            del found[place]
            found.insert(place, item.made())
            return
        ytext = found[place]["text"]
        gone, new = changed_tail(*item.stream.tail())
        end = len(ytext)
        if gone:
            del ytext[end - gone : end]
        if new:
            ytext += new


def _rest_of(item: _Item) -> _Item:
    """Of a stream: only what was not shown yet."""
    assert item.stream is not None
    fresh = StreamText()
    fresh.feed(item.stream.tail()[1])
    return _Item(item.output, fresh)
