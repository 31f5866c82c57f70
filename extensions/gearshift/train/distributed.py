"""Joining the process group of a job: back end by chip, with an explicit timeout instead of torch's 30 minutes."""

from __future__ import annotations

from datetime import timedelta

import torch
import torch.distributed as dist

from gearshift.train import chip
from gearshift.train.place import Place, here


def init() -> Place:
    """Join the job's process group (once); a single process needs none. Returns where this rank stands."""
    place = here()
    if place.distributed and not dist.is_initialized():
        timeout = timedelta(seconds=place.group_timeout_seconds)
        dist.init_process_group(chip.backend(), timeout=timeout)
    if chip.is_available():
        torch.accelerator.set_device_index(chip.device().index)
    return place


def barrier() -> None:
    """Wait for all ranks; a single process waits for nobody."""
    if dist.is_initialized():
        dist.barrier()
