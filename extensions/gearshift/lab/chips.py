"""Reads NVIDIA cards through NVML where there are any; says in words why there are none (case C25).

The driver's library is opened at the first question, never at import; a counter that a card lacks is null.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from gearshift.lab.environment import LabEnvironment


class Words(NamedTuple):
    """One sentence in both languages."""

    en: str
    zh: str


NONE = Words("No GPU on this machine", "这台机器没有 GPU")
SIMULATED = Words("The chips of this machine are simulated", "这台机器的芯片是模拟的")
NO_DRIVER = Words("The GPU driver does not answer on this machine", "这台机器的 GPU 驱动没有响应")


def chips(
    environment: LabEnvironment, library: Any = None
) -> tuple[list[dict[str, Any]] | None, Words | None]:
    """The cards this workspace may use, or None and why. `library` stands for NVML where a test brings its own."""
    if environment.visible_chips == "":
        return None, SIMULATED if environment.devices else NONE
    nvml = library or _library()
    if nvml is None:
        return None, NONE
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    except Exception:  # no driver, no card, or one that is lost: NVML has an error class for each
        return None, NO_DRIVER if environment.visible_chips else NONE
    cards = [_card(nvml, index, handle) for index, handle in enumerate(handles)]
    mine = [card for card in cards if _is_mine(card, environment.visible_chips)]
    return (mine, None) if mine else (None, NONE)


def _library() -> Any:
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None


def _card(nvml: Any, index: int, handle: Any) -> dict[str, Any]:
    memory = _counter(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    use = _counter(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
    return {
        "index": index,
        "uuid": _text(_counter(lambda: nvml.nvmlDeviceGetUUID(handle))),
        "name": _text(_counter(lambda: nvml.nvmlDeviceGetName(handle))),
        "percent": None if use is None else use.gpu,
        "memory_bytes": None if memory is None else memory.used,
        "memory_limit_bytes": None if memory is None else memory.total,
        "celsius": _counter(lambda: nvml.nvmlDeviceGetTemperature(handle, 0)),
    }


def _counter(read: Callable[[], Any]) -> Any:
    """One figure; a card without it, or a virtual one that hides it, gives None and the others still show."""
    try:
        return read()
    except Exception:  # NVML raises a class per fault, and may hide any of them behind a wrapper
        return None


def _text(found: Any) -> Any:
    return found.decode() if isinstance(found, bytes) else found


def _is_mine(card: dict[str, Any], visible: str | None) -> bool:
    if visible is None:
        return True
    names = [name.strip() for name in visible.split(",")]
    return str(card["index"]) in names or card["uuid"] in names
