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
    """Attempts that may follow one that ended by an `error`."""
    max_interruptions: int = 0
    """Attempts that may follow one that was interrupted: its node was lost."""
    attempts_before: tuple[dict[str, Any], ...] = ()
    """Those of earlier supervisors of this job, as they wrote them."""
    join_seconds: float = 60.0
    """All ranks must have reached their code by then."""
    halted_seconds: float = 10.0
    """A rank that was stopped (SIGSTOP) and does not go on for so long has failed."""
    cut_seconds: float = 5.0
    """A node whose cable carries nothing for so long is lost."""
    grace_seconds: float = 3.0
    group_timeout_seconds: float = 600.0
    deadline_seconds: float | None = None
    private_network: bool = False
    node_networks: bool = False
    """A network for each node, where the box allows it."""
    nic: str = "lo"
    port: int = 29500
    threads: int = 1
    memory_bytes: int | None = None
    """What one node has; a rank that asks for more gets a MemoryError instead of a kill."""
    log_bytes: int = 64 * 1024**2
    """Of each rank's log in each attempt."""
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

    @property
    def notice_mark(self) -> Path:
        """Exists when the machine is about to be taken away: the job is not cancelled, it goes on elsewhere."""
        return Path(self.root) / "notice"

    @property
    def first_attempt(self) -> int:
        return int(self.attempts_before[-1]["attempt"]) + 1 if self.attempts_before else 0

    @property
    def may_go_on(self) -> bool:
        """Whether another attempt may follow the one that runs."""
        return self.max_restarts > 0 or self.max_interruptions > 0

    def left_of(self, word: str) -> int:
        """What earlier supervisors left of a budget; a word without one is control's to try again."""
        budget = {"error": self.max_restarts, "interruption": self.max_interruptions}.get(word, 0)
        return budget - len([one for one in self.attempts_before if one.get("counts_as") == word])

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
        argv, before = tuple(data.pop("argv")), tuple(data.pop("attempts_before"))
        return cls(nodes=places, argv=argv, attempts_before=before, **data)

    @classmethod
    def read(cls, root: Path) -> Order:
        return cls.from_json((root / ORDER_FILE).read_text())
