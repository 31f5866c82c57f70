"""What the supervisor is told to start: one JSON file, written by control, read once."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ORDER_FILE = "job.json"


@dataclass(frozen=True)
class NodePlace:
    """Where one node of the gang runs: its loopback address and the devices it may use."""

    address: str
    devices: tuple[str, ...] = ()
    cuda: str = ""


@dataclass(frozen=True)
class Order:
    """One job, placed. Folders: `root` holds the order and the bundle, `out` belongs to the submitter."""

    job: str
    root: str
    python: str
    nodes: tuple[NodePlace, ...]
    procs: int = 1
    launch: str = "env"
    argv: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = "/"
    max_restarts: int = 0
    grace_seconds: float = 3.0
    group_timeout_seconds: float = 600.0
    deadline_seconds: float | None = None
    private_network: bool = False
    port: int = 29500
    threads: int = 1
    memory_bytes: int | None = None
    """What one node has; a rank that asks for more gets a MemoryError instead of a kill."""
    extensions: str | None = None
    resume_from: str = ""
    """The root of an ended job whose newest complete checkpoint this one begins at."""

    @property
    def world_size(self) -> int:
        return len(self.nodes) * self.procs

    @property
    def out(self) -> Path:
        return Path(self.root) / "out"

    @property
    def bundle(self) -> Path:
        return Path(self.root) / "bundle.zip"

    @property
    def checkpoints(self) -> Path:
        return Path(self.env.get("GS_CKPT", self.out / "checkpoints"))

    @property
    def checkpoints_before(self) -> Path:
        """Those of the job it goes on from."""
        return Path(self.resume_from) / "out/checkpoints"

    @property
    def cancel_mark(self) -> Path:
        """Exists from the moment control decides to cancel: a rank ended by then is no failure."""
        return Path(self.root) / "cancel"

    def attempt_dir(self, attempt: int) -> Path:
        return self.out / "attempts" / str(attempt)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Order:
        data: dict[str, Any] = json.loads(text)
        places = tuple(
            NodePlace(place["address"], tuple(place["devices"]), place["cuda"]) for place in data.pop("nodes")
        )
        return cls(nodes=places, argv=tuple(data.pop("argv")), **data)

    @classmethod
    def read(cls, root: Path) -> Order:
        return cls.from_json((root / ORDER_FILE).read_text())
