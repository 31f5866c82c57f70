"""Figures of a training step: one JSON line on the pipe that the supervisor reads."""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any

from gearshift.train.gang.journal import MAX_LINE, SIGN

_encode = json.JSONEncoder(separators=(",", ":")).encode
"""One for all lines: making an encoder costs more than a line."""


def log(*, step: int | None = None, **values: Any) -> None:
    """Tell the job widget, for example `log(step=10, loss=loss)`; tensors of one element are taken as numbers.

    Outside a job, nothing happens: the same code runs in a cell.
    """
    fd = os.environ.get("GS_METRICS_FD")
    if not fd:
        return
    point: dict[str, Any] = {"t": round(time.time(), 3)}
    if step is not None:
        point["step"] = int(step)
    for name, value in values.items():
        point[name] = _plain(value)
    data = _encode(point).encode() + b"\n"
    if len(data) > MAX_LINE:
        raise ValueError(f"a line of metrics is {len(data)} bytes, at most {MAX_LINE} are possible")
    os.write(int(fd), data)


def sign(**word: Any) -> bool:
    """The runner's own word to the supervisor, on the same pipe; false when it is too long for one."""
    data = json.dumps({SIGN: word}, ensure_ascii=False).encode(errors="replace") + b"\n"
    if len(data) > MAX_LINE:
        return False
    if fd := os.environ.get("GS_METRICS_FD"):
        os.write(int(fd), data)
    return True


def _plain(value: Any) -> Any:
    """A number, a short text, or None for what is not finite: charts show a gap, not a lie."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None
