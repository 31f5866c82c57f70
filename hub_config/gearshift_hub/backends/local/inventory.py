"""The pools of this box: what the deployment file declares, `auto` filled in, NVIDIA cards added where it has some."""

from __future__ import annotations

import os
from pathlib import Path

from gearshift.model.lease import Device, Pool

from gearshift_hub.deployment import Deployment
from gearshift_hub.deployment.model import DeclaredPool

from .cards import Card, Cards, read_cards

GIB = 1 << 30
_OWN_SHARE = 10
"""Percent of memory, at most 2 GiB, that `auto` leaves for hub, control and the rest of the box."""


def pools(deployment: Deployment, cards: Cards | None = None) -> list[Pool]:
    """What can be leased here."""
    found = read_cards() if cards is None else cards
    return [_resolve(declared, deployment, found) for declared in deployment.pools]


def box_cores() -> int:
    """Cores we may run on."""
    return len(os.sched_getaffinity(0))


def box_memory_bytes(group_root: Path = Path("/sys/fs/cgroup")) -> int:
    """Memory for workspaces and jobs: the box's, or less where we are in a container with a limit."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        total = min(total, _limit(group_root / name) or total)
    return total - min(2 * GIB, total * _OWN_SHARE // 100)


def _resolve(declared: DeclaredPool, deployment: Deployment, cards: Cards) -> Pool:
    real = _takes_cards(declared, deployment)
    devices = [_device(card, cards.driver) for card in cards.found if card.uuid] if real else []
    if not declared.devices:
        return declared.resolve(box_cores(), box_memory_bytes(), devices)
    pool = declared.resolve(box_cores(), box_memory_bytes())
    named = [
        name.model_copy(
            update={
                "uuid": card.uuid,
                "driver": card.driver,
                "memory_bytes": name.memory_bytes or card.memory_bytes,
            }
        )
        for name, card in zip(pool.devices, devices, strict=False)
    ]
    return pool.model_copy(update={"devices": (*named, *pool.devices[len(named) :])})


def _takes_cards(declared: DeclaredPool, deployment: Deployment) -> bool:
    """A pool of real chips with an NVIDIA machine on it; a pool that names its devices gives those names to the
    cards, in order."""
    chips = [machine.chip for machine in deployment.machines if machine.pool == declared.id and machine.chip]
    return not declared.simulated and any(chip.vendor == "nvidia" for chip in chips)


def _device(card: Card, driver: str | None) -> Device:
    memory = card.memory_bytes or 0
    return Device(id=f"nvidia{card.index}", uuid=card.uuid, memory_bytes=memory, driver=driver or "")


def _limit(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
