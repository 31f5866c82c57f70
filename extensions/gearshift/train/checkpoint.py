"""Checkpoints that are whole or not there: written, synced, and only then marked complete."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from gearshift.train import metrics
from gearshift.train.distributed import barrier
from gearshift.train.gang import checkpoints
from gearshift.train.place import here

KEEP = 2
RANKS, SHARDED, DEEPSPEED = "ranks", "sharded", "deepspeed"
SAVED_BY = {RANKS: "save_checkpoint", SHARDED: "save_sharded", DEEPSPEED: "save_deepspeed"}


def save_checkpoint(state: dict[str, Any], step: int, keep: int = KEEP) -> Path:
    """Save this rank's state of `step`; all ranks call it. The newest `keep` checkpoints stay.

    The mark `complete` is written last, by rank 0, after every rank's shard is on disk under its final name.
    """
    return save(step, keep, RANKS, lambda folder: _write_shard(state, folder / f"rank-{here().rank}.pt"))


def save_sharded(state: dict[str, Any], step: int, keep: int = KEEP) -> Path:
    """The same by torch's distributed checkpoint: what `load_sharded` can read with any number of ranks.

    `state` is as torch.distributed.checkpoint.state_dict gives it: tensors that all ranks have, or shards (DTensor).
    """
    return save(step, keep, SHARDED, lambda folder: _dcp().save(state, checkpoint_id=folder))


def load_checkpoint(map_location: Any = "cpu") -> tuple[int, dict[str, Any]] | None:
    """Step and state of the checkpoint that all ranks resume from; None when this is a fresh start.

    Which one it is was decided once by the supervisor, before any rank started.
    """
    found = resumed(RANKS)
    if found is None:
        return None
    step, folder, _ = found
    shard = folder / f"rank-{here().rank}.pt"
    return step, torch.load(shard, map_location=map_location, weights_only=False)


def load_sharded(state: dict[str, Any]) -> int | None:
    """Fill `state` in place from the checkpoint that all ranks resume from, and return its step; None: a fresh start."""
    found = resumed(SHARDED)
    if found is None:
        return None
    step, folder, _ = found
    _dcp().load(state, checkpoint_id=folder)
    return step


def save(
    step: int, keep: int, form: str, write: Callable[[Path], object], made: Mapping[str, Any] | None = None
) -> Path:
    """What all forms have in common: `write` puts this rank's part into a folder that is marked when all have."""
    place = here()
    folder = checkpoints.folder(place.checkpoints, step)
    if place.rank == 0:
        _begin(folder)
    barrier()
    write(folder)
    _sync(folder)
    barrier()
    if place.rank == 0:
        _mark(folder, {"form": form, "ranks": place.world_size, **(made or {})})
        _thin_out(place.checkpoints, keep)
        metrics.log(step=step, checkpoint=step)
    barrier()
    return folder


def resumed(form: str) -> tuple[int, Path, dict[str, Any]] | None:
    """Step, folder and mark of the checkpoint that all ranks resume from, when it has this form; None: a fresh start."""
    place = here()
    if place.resume is None:
        return None
    step = checkpoints.NAME.fullmatch(place.resume.name)
    made = _made(place.resume)
    if step is None or made["form"] != form:
        raise ValueError(f"{place.resume} was saved by {SAVED_BY[made['form']]}: load it by its own function")
    if form == RANKS and made["ranks"] != place.world_size:
        raise ValueError(
            f"{place.resume} was saved by {made['ranks']} ranks and there are {place.world_size} now: "
            "save_sharded and load_sharded can do that"
        )
    return int(step[1]), place.resume, made


def _made(folder: Path) -> dict[str, Any]:
    """What the mark says; a person's own checkpoint may have an empty one."""
    text = (folder / checkpoints.COMPLETE).read_text()
    return {"form": RANKS, "ranks": here().world_size} | (json.loads(text) if text else {})


def _begin(folder: Path) -> None:
    """Nothing of an earlier try of this step stays, its mark last of all."""
    (folder / checkpoints.COMPLETE).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _write_shard(state: dict[str, Any], shard: Path) -> None:
    aside = shard.with_suffix(".new")
    try:
        with aside.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(shard)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _mark(folder: Path, made: dict[str, Any]) -> None:
    aside = folder / f".{checkpoints.COMPLETE}"
    aside.write_text(json.dumps(made))
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


def _dcp() -> Any:
    """Heavy, and only where it is needed."""
    return importlib.import_module("torch.distributed.checkpoint")
