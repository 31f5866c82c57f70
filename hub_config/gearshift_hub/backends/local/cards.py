"""NVIDIA cards, as the driver's library tells of them. No library, no driver and a refused counter are all normal:
what is not known is None and has a reason (case C25)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class Card:
    """One card. `unknown` names each counter that it does not tell, with the driver's words."""

    index: int
    uuid: str | None = None
    model: str | None = None
    memory_bytes: int | None = None
    used_bytes: int | None = None
    busy_percent: int | None = None
    temperature_celsius: int | None = None
    power_watts: float | None = None
    unknown: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cards:
    """All cards, or the reason why none can be seen; and the one driver of them all."""

    found: tuple[Card, ...] = ()
    reason: str | None = None
    driver: str | None = None


def read_cards(library: Any = None) -> Cards:
    """What is there now. `library` is pynvml or something that behaves like it."""
    nvml = _library() if library is None else library
    if nvml is None:
        return Cards(reason="No NVIDIA driver library on this box")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return Cards(reason=f"No NVIDIA driver on this box ({error})")
    try:
        found = tuple(_card(nvml, index) for index in range(nvml.nvmlDeviceGetCount()))
        return Cards(found, driver=_driver(nvml))
    except nvml.NVMLError as error:
        return Cards(reason=f"The NVIDIA driver does not answer ({error})")
    finally:
        nvml.nvmlShutdown()


def _driver(nvml: Any) -> str | None:
    try:
        return str(nvml.nvmlSystemGetDriverVersion())
    except nvml.NVMLError:
        return None


def _card(nvml: Any, index: int) -> Card:
    unknown: dict[str, str] = {}
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        return Card(index, unknown={"card": str(error)})

    def ask(counter: str, read: Callable[[], Value]) -> Value | None:
        try:
            return read()
        except nvml.NVMLError as error:
            unknown[counter] = str(error)
            return None

    return Card(
        index=index,
        uuid=ask("uuid", lambda: str(nvml.nvmlDeviceGetUUID(handle))),
        model=ask("model", lambda: str(nvml.nvmlDeviceGetName(handle))),
        memory_bytes=ask("memory", lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total)),
        used_bytes=ask("used", lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).used)),
        busy_percent=ask("busy", lambda: int(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)),
        temperature_celsius=ask("temperature", lambda: int(nvml.nvmlDeviceGetTemperature(handle, 0))),
        power_watts=ask("power", lambda: float(nvml.nvmlDeviceGetPowerUsage(handle)) / 1000),
        unknown=unknown,
    )


def _library() -> Any:
    try:
        import pynvml  # noqa: PLC0415 - absent where only CPUs are; asked for when cards are
    except ImportError:
        return None
    return pynvml
