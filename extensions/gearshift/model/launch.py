"""What control tells a spawner: all that is needed to start one workspace, computed anew for each start."""

from __future__ import annotations

from pydantic import Field

from gearshift.model.app import App
from gearshift.model.record import Record

DOOR_KEY_ENV = "GEARSHIFT_DOOR_KEY"
DOOR_KEY_HEADER = "X-Gearshift-Door-Key"
"""How a server knows control: the key of its launch, shown in this header."""

WARN_SHARE_ENV = "GEARSHIFT_MEMORY_WARN_SHARE"
INTERRUPT_SHARE_ENV = "GEARSHIFT_MEMORY_INTERRUPT_SHARE"


class WorkspaceRef(Record):
    """Which workspace."""

    owner: str
    name: str


class Person(Record):
    """As whom it runs: a uid of its own where the box allows it."""

    name: str
    slug: str
    uid: int
    gid: int
    home: str


class ImageRef(Record):
    """In which environment; `python` is the version of kernels and jobs, `prefix` where it lies, empty for our own."""

    id: str
    python: str
    digest: str
    prefix: str = ""
    app: App | None = None


class ProcessLimits(Record):
    """What the process tree may use."""

    memory_bytes: int
    cpus: float
    pids: int = 4096
    threads: int = 1


class Mount(Record):
    """A folder that the tree sees at `target`."""

    source: str
    target: str
    read_only: bool = False


class LaunchDeadlines(Record):
    """Seconds from the launch to ready, and from TERM to KILL."""

    start: float = 60.0
    term: float = 3.0


class LaunchPlan(Record):
    """One launch. Tokens are not part of it: two plans for the same choice differ by nothing but the person."""

    operation: str
    workspace: WorkspaceRef
    person: Person
    image: ImageRef
    argv_extra: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    limits: ProcessLimits
    devices: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    runtime_dir: str
    state_dir: str
    tree: str
    deadlines: LaunchDeadlines = LaunchDeadlines()
    labels: dict[str, str] = Field(default_factory=dict)
