"""Where this process stands in its job: rank, world and folders, read from the environment when asked."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """This process in its job; outside a job it is rank 0 of 1."""

    job: str | None
    rank: int
    local_rank: int
    world_size: int
    node: int
    attempt: int
    attempt_dir: Path | None
    out: Path | None
    bundle: Path | None
    checkpoints: Path
    resume: Path | None
    group_timeout_seconds: float
    metrics_fd: int | None

    @property
    def distributed(self) -> bool:
        return self.world_size > 1


def here() -> Place:
    """Read it now; nothing is kept."""
    env = os.environ
    return Place(
        job=env.get("GS_JOB"),
        rank=int(env.get("RANK", "0")),
        local_rank=int(env.get("LOCAL_RANK", "0")),
        world_size=int(env.get("WORLD_SIZE", "1")),
        node=int(env.get("NODE_RANK", env.get("GROUP_RANK", "0"))),
        attempt=int(env.get("GS_ATTEMPT", "0")),
        attempt_dir=_path("GS_ATTEMPT_DIR"),
        out=_path("GS_OUT"),
        bundle=_path("GS_BUNDLE"),
        checkpoints=_path("GS_CKPT") or Path("checkpoints"),
        resume=_path("GS_RESUME"),
        group_timeout_seconds=float(env.get("GS_GROUP_TIMEOUT", "600")),
        metrics_fd=int(env["GS_METRICS_FD"]) if env.get("GS_METRICS_FD") else None,
    )


def rank() -> int:
    """This process's rank; 0 outside a job."""
    return here().rank


def world_size() -> int:
    """How many ranks the job has; 1 outside a job."""
    return here().world_size


def _path(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None


def is_address(text: str) -> bool:
    """Of IPv4 or IPv6, and no name."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
