"""What the spawner told this server about itself; the only place of the extension that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gearshift.lab.machine import MachineNow, Size
from gearshift.model.launch import DOOR_KEY_ENV, INTERRUPT_SHARE_ENV, WARN_SHARE_ENV
from gearshift.state.kernel import signing_key

KEEP_DAYS = 7.0
WARN_SHARE, INTERRUPT_SHARE = 0.85, 0.95


@dataclass(frozen=True)
class LabEnvironment:
    """Secrets never show in `repr`, so they never reach a log."""

    control_url: str | None
    owner: str
    workspace: str
    now: MachineNow
    """The machine, which a live resize changes while this server runs."""
    devices: tuple[str, ...]
    visible_chips: str | None
    memory_warn_share: float
    memory_interrupt_share: float
    state_dir: Path
    restore: str | None
    """The operation that brings back `restore_state` before pages are let in."""
    restore_state: str | None
    keep_days: float
    token: str = field(repr=False)
    state_key: bytes = field(repr=False)
    door_key: str = field(repr=False)
    """What control shows when it calls; empty outside a hub."""

    @property
    def machine(self) -> str | None:
        """The machine as of now."""
        return self.now.size.machine


def read(env: Mapping[str, str] | None = None) -> LabEnvironment:
    """Outside a hub everything but the state folder is unknown, and said to be so."""
    given = os.environ if env is None else env
    owner, _, workspace = given.get("GEARSHIFT_WORKSPACE", "").partition("/")
    state_dir = Path(given.get("GEARSHIFT_STATE_DIR") or Path.home() / ".local/share/gearshift/state")
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    return LabEnvironment(
        control_url=(given.get("GEARSHIFT_CONTROL_URL") or "").rstrip("/") or None,
        owner=owner,
        workspace=workspace,
        now=MachineNow(
            Size(
                given.get("GEARSHIFT_MACHINE"),
                _number(given.get("GEARSHIFT_CPUS")),
                _whole(given.get("GEARSHIFT_MEMORY_BYTES")),
            )
        ),
        devices=tuple(filter(None, given.get("GEARSHIFT_DEVICES", "").split(","))),
        visible_chips=given.get("CUDA_VISIBLE_DEVICES"),
        memory_warn_share=_number(given.get(WARN_SHARE_ENV)) or WARN_SHARE,
        memory_interrupt_share=_number(given.get(INTERRUPT_SHARE_ENV)) or INTERRUPT_SHARE,
        state_dir=state_dir,
        restore=given.get("GEARSHIFT_RESTORE") or None,
        restore_state=given.get("GEARSHIFT_RESTORE_STATE") or given.get("GEARSHIFT_RESTORE") or None,
        keep_days=_number(given.get("GEARSHIFT_STATE_KEEP_DAYS")) or KEEP_DAYS,
        token=given.get("JUPYTERHUB_API_TOKEN", ""),
        state_key=signing_key(given, state_dir),
        door_key=given.get(DOOR_KEY_ENV, ""),
    )


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _whole(text: str | None) -> int | None:
    return int(text) if text else None
