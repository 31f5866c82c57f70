"""The chip of this rank under one set of names, with a CPU branch: `torch.accelerator` raises where there is none."""

from __future__ import annotations

import os

import torch
import torch.distributed


def is_available() -> bool:
    """Whether this process may use an accelerator."""
    return torch.accelerator.is_available()


def type() -> str:
    """`cpu`, `cuda`, `npu`, `xpu` …"""
    accelerator = torch.accelerator.current_accelerator()
    return accelerator.type if accelerator is not None else "cpu"


def device(index: int | None = None) -> torch.device:
    """The device of this rank: its local rank, or the one named."""
    if not is_available():
        return torch.device("cpu")
    number = int(os.environ.get("LOCAL_RANK", "0")) if index is None else index
    return torch.device(type(), number % max(1, device_count()))


def device_count() -> int:
    """How many accelerators this process sees; 0 on a CPU machine."""
    return torch.accelerator.device_count()


def backend() -> str:
    """The collective back end that fits the chip: gloo on CPU, nccl on CUDA."""
    return torch.distributed.get_default_backend_for_device(type())


def synchronize() -> None:
    """Wait for the accelerator; nothing to wait for on CPU."""
    if is_available():
        torch.accelerator.synchronize()


def ddp_ids() -> list[int] | None:
    """What DDP wants as `device_ids`: None on CPU, where it refuses anything else."""
    index = device().index
    return None if index is None else [index]
