"""Finds the chip of this machine that stands for one of another machine, and puts memory and random states on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from gearshift.state.refusal import told
from gearshift.state.report import Reason

_waiting: dict[str, list[str]] = {}
"""Random states of chips that this machine lacks: they travel on to a machine that has them."""


def place(flat: torch.Tensor, device: str) -> tuple[torch.Tensor, Reason | None]:
    """On the same chip; else on another of its kind; else on whatever chip is here; else left where it is. The last
    three say so."""
    target = stand_in(device)
    if target is None:
        return flat, Reason("on_cpu", {"device": device})
    try:
        placed = flat.to(target)
    except RuntimeError as error:  # torch's way to say that the chip's memory is full
        return flat, Reason("chip_refuses", {"device": target, "error": told(error)})
    return placed, None if target == device else Reason("on_other", {"device": device, "new": target})


def stand_in(device: str) -> str | None:
    """The chip to use for it here."""
    if has(device):
        return device
    kind = device.partition(":")[0]
    return next((name for name in (f"{kind}:0", f"{_current()}:0") if has(name)), None)


def has(device: str) -> bool:
    """Whether this machine can hold tensors on it."""
    kind, _, index = device.partition(":")
    if kind == "cpu":
        return True
    module = _module(kind)
    return module is not None and int(index or 0) < getattr(module, "device_count", lambda: 1)()


def random_states() -> Mapping[str, list[str]] | None:
    """Kind of chip -> the state of each one in use, as hex; also of those that wait for a machine that has them."""
    found = dict(_waiting)
    for kind in {"cuda", _current()} - {None}:
        module = _module(str(kind))
        if module is None or not getattr(module, "is_initialized", lambda: True)():
            continue
        states = [module.get_rng_state(index) for index in range(module.device_count())]
        found[str(kind)] = [bytes(state.cpu().numpy().tobytes()).hex() for state in states]
    return found or None


def set_random_states(states: Mapping[str, list[str]]) -> None:
    """As many as there are chips here."""
    for kind, values in states.items():
        module = _module(kind)
        if module is None:
            _waiting[kind] = list(values)
            continue
        _waiting.pop(kind, None)
        for index, value in enumerate(values[: module.device_count()]):
            module.set_rng_state(torch.frombuffer(bytearray.fromhex(value), dtype=torch.uint8), index)


def _module(kind: str) -> Any | None:
    """`torch.cuda` and its like, where that kind is here."""
    module = getattr(torch, kind, None)
    return module if module is not None and getattr(module, "is_available", lambda: False)() else None


def _current() -> str | None:
    """The kind of chip that this build of torch uses here."""
    try:
        found = torch.accelerator.current_accelerator(check_available=True)
    except RuntimeError:  # a build for the CPU alone
        return None
    return found.type if found is not None else None
