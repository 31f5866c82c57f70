"""Joining the process group of a job: back end by chip, with an explicit timeout instead of torch's 30 minutes."""

from __future__ import annotations

import signal
import threading
from datetime import timedelta
from types import FrameType

import torch
import torch.distributed as dist

from gearshift.train import chip
from gearshift.train.place import Place, here

_asked = threading.Event()
"""Set by the polite stop, once somebody wants to know of it."""


def init() -> Place:
    """Join the job's process group (once); a single process needs none. Returns where this rank stands."""
    place = here()
    if place.distributed and not dist.is_initialized():
        timeout = timedelta(seconds=place.group_timeout_seconds)
        dist.init_process_group(chip.backend(), timeout=timeout)
    if chip.is_available():
        torch.accelerator.set_device_index(chip.device().index)
    return place


def interrupted() -> bool:
    """Whether the job was asked to end (its machine goes away, or somebody cancelled it): save, and leave.

    All ranks call it, for example once a step; all get the same answer, so that all save the same step. From the
    first call on, the polite stop (SIGTERM) only sets what this returns.
    """
    if signal.getsignal(signal.SIGTERM) is not _ask:
        signal.signal(signal.SIGTERM, _ask)
    flag = torch.tensor([int(_asked.is_set())], device=chip.device())
    if dist.is_initialized():
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())


def _ask(_number: int, _frame: FrameType | None) -> None:
    _asked.set()


def barrier() -> None:
    """Wait for all ranks; a single process waits for nobody."""
    if dist.is_initialized():
        dist.barrier()
