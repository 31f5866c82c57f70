"""Where everything of one deployment lies: folders, sockets, secrets and ports, all derived from one root."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

SYSTEM_ROOT = Path("/var/lib/gearshift")
"""Where root keeps a deployment: other uids may enter it, since the workspaces run as them."""


@dataclass(frozen=True)
class Secrets:
    """What the parts of one deployment trust each other by; made once, kept 0600, never printed."""

    control_hub_token: str
    traefik_password: str
    hub_cookie_secret: str
    """Hex, 32 bytes."""
    control_secret: str
    state_secret: str

    def __repr__(self) -> str:
        return "Secrets(***)"


@dataclass(frozen=True)
class Ports:
    """The addresses this run really uses (a port given as 0 was replaced by a free one)."""

    host: str
    port: int
    hub_port: int
    control_port: int
    traefik_api_port: int
    base_url: str
    """Begins and ends with a slash."""

    @property
    def url(self) -> str:
        """The public address, with base URL."""
        return f"http://{self.reachable_host}:{self.port}{self.base_url}"

    @property
    def reachable_host(self) -> str:
        return "127.0.0.1" if self.host in ("", "0.0.0.0", "::") else self.host  # noqa: S104

    @property
    def hub_api(self) -> str:
        """The hub's REST API, past the proxy."""
        return f"http://127.0.0.1:{self.hub_port}{self.base_url}hub/api"

    def door(self, host: str) -> str:
        """Control as it is reached through the proxy at this address, without a slash at the end."""
        return f"http://{host}:{self.port}{self.base_url}services/gearshift"

    @property
    def control_url(self) -> str:
        """Control's own address, past the proxy."""
        return f"http://127.0.0.1:{self.control_port}{self.base_url}services/gearshift"


@dataclass(frozen=True)
class Home:
    """One deployment's folder. Two different roots never share a path, a port file or a cgroup."""

    root: Path

    @classmethod
    def default(cls) -> Home:
        """GEARSHIFT_HOME, else the system folder for root, else the user's data folder."""
        given = os.environ.get("GEARSHIFT_HOME")
        if given:
            return cls(Path(given).expanduser().absolute())
        if os.geteuid() == 0:
            return cls(SYSTEM_ROOT)
        data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
        return cls(Path(data).expanduser().absolute() / "gearshift")

    @property
    def id(self) -> str:
        """Eight hex digits that stand for this root wherever a short name is needed."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:8]

    @property
    def env(self) -> Path:
        return self.root / "env"

    @property
    def state(self) -> Path:
        """Databases and secrets; 0700."""
        return self.root / "state"

    @property
    def run(self) -> Path:
        """Sockets, pid files, the port file."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def homes(self) -> Path:
        """One 0700 folder per person, named by slug."""
        return self.root / "homes"

    @property
    def disks(self) -> Path:
        return self.root / "disks"

    @property
    def store(self) -> Path:
        """The shared, read-only data sets."""
        return self.root / "store"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def kernels(self) -> Path:
        """Saved kernel state: one 0700 folder per workspace, owned by its uid."""
        return self.root / "kernels"

    @property
    def images(self) -> Path:
        """Environments of images, and the cache that they share; made when the first image is."""
        return self.root / "images"

    @property
    def runtime(self) -> Path:
        """A short path for kernel sockets, whose names must stay under 107 characters (facts-box 2)."""
        name = f"gearshift-{self.id}"
        if os.geteuid() == 0:
            return Path("/run") / name
        given = os.environ.get("XDG_RUNTIME_DIR", "")
        if given and len(given) + 1 + len(name) <= 40 and os.access(given, os.W_OK):
            return Path(given) / name
        return Path("/tmp") / name  # noqa: S108 - the only short folder everybody has; made 0711 by us

    @property
    def cgroup(self) -> str:
        return f"gearshift-{self.id}"

    @property
    def control_socket(self) -> Path:
        return self.run / "control.sock"

    @property
    def forkserver_socket(self) -> Path:
        return self.run / "forkserver.sock"

    @property
    def lock(self) -> Path:
        return self.run / "supervisor.lock"

    @property
    def secrets_file(self) -> Path:
        return self.state / "secrets.json"

    @property
    def ports_file(self) -> Path:
        return self.run / "ports.json"

    @property
    def database_url(self) -> str:
        """SQLite in the state folder unless GEARSHIFT_DATABASE_URL names another database."""
        return os.environ.get("GEARSHIFT_DATABASE_URL") or f"sqlite:///{self.state / 'control.sqlite'}"

    def create(self) -> None:
        """Make every folder with its mode; raises OSError where the box does not let us."""
        for above in reversed(self.root.parents):
            if not above.exists():
                above.mkdir()
                above.chmod(0o755)  # whatever the umask: other uids pass through
        for folder, mode in self._folders():
            folder.mkdir(exist_ok=True)
            if folder.stat().st_mode & 0o7777 != mode:
                folder.chmod(mode)

    def secrets(self) -> Secrets:
        return Secrets(**_known(Secrets, json.loads(self.secrets_file.read_text())))

    def make_secrets(self) -> Secrets:
        """The secrets of this deployment, drawn the first time."""
        if self.secrets_file.exists():
            return self.secrets()
        made = Secrets(**{field.name: secrets.token_hex(32) for field in fields(Secrets)})
        write_private(self.secrets_file, json.dumps(asdict(made), indent=1))
        return made

    def ports(self) -> Ports:
        return Ports(**_known(Ports, json.loads(self.ports_file.read_text())))

    def record_ports(self, ports: Ports) -> None:
        write_private(self.ports_file, json.dumps(asdict(ports), indent=1))

    def _folders(self) -> list[tuple[Path, int]]:
        return [
            (self.root, 0o755),
            (self.state, 0o700),
            (self.run, 0o755),
            (self.logs, 0o700),
            (self.homes, 0o755),
            (self.disks, 0o711),
            (self.store, 0o755),
            (self.jobs, 0o711),
            (self.kernels, 0o711),
            (self.runtime, 0o711),
        ]


def write_private(path: Path, text: str) -> None:
    """Write a 0600 file whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _known(kind: type[Secrets] | type[Ports], values: dict[str, Any]) -> dict[str, Any]:
    """Only the fields this version knows: a newer version's file stays readable."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}
