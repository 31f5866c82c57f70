"""A curve of at most 600 points out of a file that only grows: each read takes just what is new."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gearshift.model import foreign_json
from gearshift.model.foreign_json import ForeignJsonError

from gearshift_hub.backends.jobs import Page

MOST = 600
READ_BYTES = 1 << 20


@dataclass
class Series:
    """Every `stride`-th step of one rank; the stride doubles whenever there are twice as many points as shown."""

    offset: int = 0
    stride: int = 1
    last: dict[str, Any] | None = None
    _seen: int = 0
    _attempt: int = 0
    _points: list[dict[str, Any]] = field(default_factory=list)

    def take(self, page: Page) -> bool:
        """Read the whole lines of a page that begins at `offset`; true when it held some."""
        whole = page.data[: page.data.rfind(b"\n") + 1]
        self.offset += len(whole)
        if not whole and len(page.data) >= READ_BYTES:
            self.offset += len(page.data)
        for line in whole.splitlines():
            point = _point(line)
            if point is not None:
                self._add(point)
        return bool(whole)

    def points(self, most: int = MOST) -> list[dict[str, Any]]:
        """At most `most`, evenly thinned; the last one is always there."""
        shown = self._points
        if self.last is not None and (not shown or shown[-1] is not self.last):
            shown = [*shown, self.last]
        most = max(1, min(most, MOST))
        if len(shown) <= most:
            return list(shown)
        step = -(-len(shown) // most)
        return [*shown[:-1:step], shown[-1]][-most:]

    def _add(self, point: dict[str, Any]) -> None:
        attempt = point.get("attempt", 0)
        if attempt != self._attempt:
            self._attempt = attempt
            self._points = [old for old in self._points if old["step"] < point["step"]]
        self.last = point
        if self._seen % self.stride == 0:
            self._points.append(point)
        self._seen += 1
        if len(self._points) >= 2 * MOST:
            self._points = self._points[::2]
            self.stride *= 2


def _point(line: bytes) -> dict[str, Any] | None:
    """A step with figures; a line without a step (or with a lone mark of a checkpoint) is no point of a curve."""
    try:
        point = foreign_json.read(line)
    except ForeignJsonError:
        return None
    if not isinstance(point, dict) or not isinstance(point.get("step"), int) or "checkpoint" in point:
        return None
    return point
