"""Checkpoints that are whole or not there: written aside, synced, renamed, then marked complete."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch

from gearshift.train import metrics
from gearshift.train.distributed import barrier
from gearshift.train.gang import checkpoints
from gearshift.train.place import here

KEEP = 2


def save_checkpoint(state: dict[str, Any], step: int, keep: int = KEEP) -> Path:
    """Save this rank's state of `step`; all ranks call it. The newest `keep` checkpoints stay.

    The mark `complete` is written last, by rank 0, after every rank's shard is on disk under its final name.
    """
    place = here()
    folder = checkpoints.folder(place.checkpoints, step)
    folder.mkdir(parents=True, exist_ok=True)
    shard = folder / f"rank-{place.rank}.pt"
    aside = shard.with_suffix(".new")
    with aside.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(shard)
    _sync(folder)
    barrier()
    if place.rank == 0:
        _mark(folder)
        _thin_out(place.checkpoints, keep)
        metrics.log(step=step, checkpoint=step)
    barrier()
    return folder


def load_checkpoint(map_location: Any = "cpu") -> tuple[int, dict[str, Any]] | None:
    """Step and state of the checkpoint that all ranks resume from; None when this is a fresh start.

    Which one it is was decided once by the supervisor, before any rank started.
    """
    place = here()
    if place.resume is None:
        return None
    step = checkpoints.NAME.fullmatch(place.resume.name)
    shard = place.resume / f"rank-{place.rank}.pt"
    if step is None or not shard.is_file():
        raise FileNotFoundError(
            f"{shard} is missing: this checkpoint was saved by another number of ranks than {place.world_size}"
        )
    return int(step[1]), torch.load(shard, map_location=map_location, weights_only=False)


def _mark(folder: Path) -> None:
    aside = folder / f".{checkpoints.COMPLETE}"
    aside.touch()
    aside.replace(folder / checkpoints.COMPLETE)
    _sync(folder)


def _thin_out(root: Path, keep: int) -> None:
    for _step, path in checkpoints.complete(root)[: -max(1, keep)]:
        (path / checkpoints.COMPLETE).unlink(missing_ok=True)
        shutil.rmtree(path)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
