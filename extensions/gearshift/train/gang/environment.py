"""What a rank finds in its environment: torchrun's contract, and ours (`GS_*`)."""

from __future__ import annotations

import math
import os
from pathlib import Path

from gearshift.train.gang.order import Order

KEPT = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "PATH", "LD_LIBRARY_PATH", "TMPDIR", "SHELL")


def base(order: Order, inherited: dict[str, str]) -> dict[str, str]:
    """What all members share, whatever node they run on."""
    env = {name: inherited[name] for name in KEPT if name in inherited}
    env["PATH"] = os.pathsep.join([str(Path(order.python).parent), env.get("PATH", "/usr/bin:/bin")])
    env |= {
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": str(order.threads),
        "GLOO_SOCKET_IFNAME": order.nic,
        "NCCL_SOCKET_IFNAME": order.nic,
        "TORCH_EXTENSIONS_DIR": str(order.out / "extensions"),
        "DEEPSPEED_TIMEOUT": str(max(1, math.ceil(order.group_timeout_seconds / 60))),
        "GS_JOB": order.job,
        "GS_BUNDLE": str(order.bundle),
        "GS_OUT": str(order.out),
        "GS_GROUP_TIMEOUT": str(order.group_timeout_seconds),
    }
    if not any(place.cuda for place in order.nodes):
        env |= {"DS_ACCELERATOR": "cpu", "ACCELERATE_USE_CPU": "true"}
    return env | order.env | {"GS_CKPT": str(order.checkpoints)}


def of_node(order: Order, node: int) -> dict[str, str]:
    """What the members of one node share."""
    place = order.nodes[node]
    return {
        "NODE_RANK": str(node),
        "GROUP_RANK": str(node),
        "MASTER_ADDR": order.nodes[0].address,
        "MASTER_PORT": str(order.port),
        "GS_NODE_ADDRESS": place.address,
        "GEARSHIFT_DEVICES": ",".join(place.devices),
        "CUDA_VISIBLE_DEVICES": place.cuda,
    }


def of_attempt(order: Order, attempt: int, resume: str) -> dict[str, str]:
    """`GS_ATTEMPT` is global and counted from 0; `GS_RESUME` is the checkpoint all ranks resume from."""
    folder = str(order.attempt_dir(attempt))
    return {"GS_ATTEMPT": str(attempt), "GS_ATTEMPT_DIR": folder, "GS_RESUME": resume}


def of_rank(order: Order, rank: int, attempt: int, metrics_fd: int) -> dict[str, str]:
    """What is one rank's own."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % order.procs),
        "WORLD_SIZE": str(order.world_size),
        "LOCAL_WORLD_SIZE": str(order.procs),
        "GS_METRICS_FD": str(metrics_fd),
        "TORCHELASTIC_ERROR_FILE": str(order.attempt_dir(attempt) / f"rank-{rank}.error.json"),
    }
