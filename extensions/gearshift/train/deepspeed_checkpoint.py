"""Checkpoints of a DeepSpeed engine, which other numbers of ranks can load: by DeepSpeed's universal checkpoint.

DeepSpeed's own files fit the number of ranks that wrote them. Where it is another one now, rank 0 turns them once
into the universal form, beside them, while the others wait; a later start finds it there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from gearshift.train import checkpoint
from gearshift.train.distributed import barrier
from gearshift.train.place import here

TAG = "engine"
UNIVERSAL = "universal"
LAST_WORDS = 500


def save_deepspeed(engine: Any, step: int, keep: int = checkpoint.KEEP) -> Path:
    """Save the engine's state of `step`; all ranks call it. Whole or not there, as `save_checkpoint`."""

    def write(folder: Path) -> None:
        engine.save_checkpoint(str(folder), tag=TAG)
        _sync_files(folder / TAG)

    made = {"stage": int(engine.zero_optimization_stage())}
    return checkpoint.save(step, keep, checkpoint.DEEPSPEED, write, made)


def load_deepspeed(engine: Any) -> int | None:
    """Fill the engine from the checkpoint that all ranks resume from, and return its step; None: a fresh start.

    Call it right after `deepspeed.initialize`. Another number of ranks needs the same ZeRO stage, and one of 1 to 3.
    """
    found = checkpoint.resumed(checkpoint.DEEPSPEED)
    if found is None:
        return None
    step, folder, made = found
    if made["ranks"] == here().world_size:
        engine.load_checkpoint(str(folder), tag=TAG)
    else:
        _check_stage(engine, folder, made["stage"])
        _load_universal(engine, folder)
    return step


def _check_stage(engine: Any, folder: Path, stage: int) -> None:
    now = int(engine.zero_optimization_stage())
    if stage == 0 or now != stage:
        raise ValueError(
            f"{folder} was saved with ZeRO stage {stage} and this engine has stage {now}: "
            "another number of ranks can load it with the same stage only, and one of 1 to 3"
        )


def _load_universal(engine: Any, folder: Path) -> None:
    """Raises RuntimeError on every rank when the conversion failed on rank 0."""
    whole = folder / UNIVERSAL
    why = convert(folder) if here().rank == 0 else ""
    barrier()
    if not whole.is_dir():
        raise RuntimeError(
            f"{folder} was not converted to DeepSpeed's universal checkpoint: {why or 'see rank 0'}"
        )
    engine.load_universal_checkpoint = lambda: (
        True
    )  # what the engine asks itself; else an entry of its settings
    try:
        engine.load_checkpoint(str(whole), tag=TAG)
    finally:
        del engine.load_universal_checkpoint


def convert(folder: Path) -> str:
    """Write the universal form of `folder` aside, then put it in place; done already is success. Returns why not."""
    whole, aside = folder / UNIVERSAL, folder / f".{UNIVERSAL}"
    if whole.is_dir():
        return ""
    shutil.rmtree(aside, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "deepspeed.checkpoint.ds_to_universal", "--inject_missing_state"]
    command += ["--input_folder", str(folder / TAG), "--output_folder", str(aside / TAG)]
    done = subprocess.run(command, env=_alone(), capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip()[-LAST_WORDS:]
    _sync_files(aside)
    aside.rename(whole)
    return ""


def _alone() -> dict[str, str]:
    """The converter is no rank of this job."""
    theirs = (
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "GS_METRICS_FD",
    )
    return {name: value for name, value in os.environ.items() if name not in theirs}


def _sync_files(root: Path) -> None:
    """DeepSpeed does not: what is marked complete must be on the disk."""
    for path in [root, *root.rglob("*")]:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
