"""Control groups of one deployment: version 1, version 2, or both at once (v1 controllers beside a v2 tree).

Each tree gets a folder of one name in every hierarchy there is: `<mount>/<deployment>/<tree>`. Killing and
freezing always go through the v2 tree, where they are atomic (facts-box 6, 9).
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .limits import Limits

CONTROLLERS = ("memory", "cpu", "cpuset", "pids")
PERIOD_US = 100_000
FREEZE_SECONDS = 2.0
_V1_EXTRA = ("cpuacct",)


@dataclass(frozen=True)
class Hierarchies:
    """Where the controllers are mounted."""

    v1: dict[str, Path] = field(default_factory=dict)
    unified: Path | None = None

    @classmethod
    def of_this_box(cls, mountinfo: str | None = None) -> Hierarchies:
        text = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
        v1: dict[str, Path] = {}
        unified = None
        for line in text.splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = (*after.split(" "), "", "")[:3]
            place = Path(before.split(" ")[4])
            if kind == "cgroup2":
                unified = place
            elif kind == "cgroup":
                v1 |= {name: place for name in options.split(",") if name in CONTROLLERS + _V1_EXTRA}
        return cls(v1, unified)

    def roots(self) -> list[Path]:
        """Every hierarchy once; the unified one last, since a group is joined there last."""
        places = dict.fromkeys(self.v1.values())
        return [*places, *([self.unified] if self.unified else [])]

    def writable(self) -> Hierarchies:
        """Only those in which this process may make groups: none for most who are not root."""
        v1 = {name: place for name, place in self.v1.items() if os.access(place, os.W_OK)}
        unified = self.unified if self.unified and os.access(self.unified, os.W_OK) else None
        return Hierarchies(v1, unified)


@dataclass(frozen=True)
class GroupUse:
    """What a tree's group has used; None where the box does not count it."""

    memory_bytes: int | None
    peak_bytes: int | None
    cpu_seconds: float | None


def v1_settings(limits: Limits) -> list[tuple[str, str, str]]:
    """(controller, file, value) in the order in which they are written."""
    written: list[tuple[str, str, str]] = []
    if limits.memory_bytes is not None:
        written.append(("memory", "memory.limit_in_bytes", str(limits.memory_bytes)))
        written.append(("memory", "memory.memsw.limit_in_bytes", str(limits.memory_bytes)))
    if limits.cpus is not None:
        written.append(("cpu", "cpu.cfs_period_us", str(PERIOD_US)))
        written.append(("cpu", "cpu.cfs_quota_us", str(int(limits.cpus * PERIOD_US))))
        written.append(("cpu", "cpu.shares", str(max(2, int(limits.cpus * 1024)))))
    if limits.cores:
        written.append(("cpuset", "cpuset.cpus", _cores(limits.cores)))
    if limits.pids is not None:
        written.append(("pids", "pids.max", str(limits.pids)))
    return written


def v2_settings(limits: Limits) -> list[tuple[str, str, str]]:
    """(controller, file, value) in the order in which they are written."""
    written: list[tuple[str, str, str]] = []
    if limits.memory_bytes is not None:
        written.append(("memory", "memory.max", str(limits.memory_bytes)))
        written.append(("memory", "memory.swap.max", "0"))
    if limits.cpus is not None:
        written.append(("cpu", "cpu.max", f"{int(limits.cpus * PERIOD_US)} {PERIOD_US}"))
        written.append(("cpu", "cpu.weight", str(min(10_000, max(1, int(limits.cpus * 100))))))
    if limits.cores:
        written.append(("cpuset", "cpuset.cpus", _cores(limits.cores)))
    if limits.pids is not None:
        written.append(("pids", "pids.max", str(limits.pids)))
    return written


_OPTIONAL = {
    "memory.memsw.limit_in_bytes",  # absent on kernels without swap accounting; the limit beside it holds
    "memory.swap.max",
    "cpu.weight",
    "cpu.shares",
    "cpu.cfs_quota_us",  # refused where the box itself has less: then that holds
}


class Groups:
    """The groups of all trees of one deployment."""

    def __init__(self, name: str, hierarchies: Hierarchies | None = None) -> None:
        self.name = name
        self.where = Hierarchies.of_this_box().writable() if hierarchies is None else hierarchies

    # -- life of a tree's group ------------------------------------------------------------------------

    def create(self, tree: str, limits: Limits, reader: int | None = None) -> None:
        """Make (or take over) the group of a tree, thawed and limited. Raises OSError.

        Processes of the gid `reader` may read its figures (why a kernel was killed), nobody else's and write none.
        """
        for root in self.where.roots():
            (root / self.name).mkdir(exist_ok=True)
            (root / self.name).chmod(0o711)
        self._hand_down_v2()
        for root in self.where.roots():
            folder = root / self.name / tree
            folder.mkdir(exist_ok=True)
            if reader is not None:
                os.chown(folder, -1, reader)
                folder.chmod(0o750)
            self._inherit_cpuset(root / self.name)
            self._inherit_cpuset(root / self.name / tree)
        frozen = self._unified_file(tree, "cgroup.freeze")
        if frozen is not None and frozen.exists():
            _write(frozen, "0")
        self.limit(tree, limits)

    def limit(self, tree: str, limits: Limits) -> None:
        """Put limits in force, at once; raises OSError (EBUSY where more than the new memory is in use)."""
        for controller, name, value in v1_settings(limits):
            if controller in self.where.v1:
                self._set(self.where.v1[controller] / self.name / tree / name, value)
        enabled = self.v2_controllers()
        for controller, name, value in v2_settings(limits):
            if controller in enabled and self.where.unified is not None:
                self._set(self.where.unified / self.name / tree / name, value)

    def controls(self, controller: str) -> bool:
        """Whether trees can be limited in this respect."""
        return controller in self.where.v1 or controller in self.v2_controllers()

    def v2_controllers(self) -> set[str]:
        """Controllers whose v2 files the trees have."""
        top = self.where.unified
        return set() if top is None else _words(top / self.name / "cgroup.subtree_control")

    def join(self, tree: str, pid: int = 0) -> None:
        """Move a process (0: the calling one) into the group."""
        for folder in self._folders(tree):
            _write(folder / "cgroup.procs", str(pid))

    def remove(self, tree: str, seconds: float = 1.0) -> bool:
        """Remove an empty group; waits a little for what is still dying. True when nothing is left."""
        ends = time.monotonic() + seconds
        while True:
            left = [folder for folder in self._folders(tree) if folder.exists() and not _remove(folder)]
            if not left:
                return True
            if time.monotonic() > ends:
                return False
            time.sleep(0.002)

    def remove_all(self) -> None:
        """Remove the deployment's own folder; it stays where a tree is left in it."""
        for root in self.where.roots():
            _remove(root / self.name)

    def names(self) -> list[str]:
        """Trees that have a group."""
        found: set[str] = set()
        for root in self.where.roots():
            with suppress(OSError):
                found |= {entry.name for entry in os.scandir(root / self.name) if entry.is_dir()}
        return sorted(found)

    # -- what is in it ---------------------------------------------------------------------------------

    def pids(self, tree: str) -> list[int]:
        for folder in reversed(list(self._folders(tree))):
            with suppress(OSError):
                return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
        return []

    def use(self, tree: str) -> GroupUse:
        """Memory without the page cache that could be dropped, the peak, and CPU time."""
        memory, cpu = self._folder_of("memory", tree), self._folder_of("cpuacct", tree)
        if "memory" in self.where.v1:
            current = _number(memory, "memory.usage_in_bytes")
            idle = _keyed(memory, "memory.stat", "total_inactive_file") or 0
            peak = _number(memory, "memory.max_usage_in_bytes")
        else:
            current = _number(memory, "memory.current")
            idle = _keyed(memory, "memory.stat", "inactive_file") or 0
            peak = _number(memory, "memory.peak")
        if "cpuacct" in self.where.v1:
            nanos = _number(cpu, "cpuacct.usage")
            seconds = None if nanos is None else nanos / 1e9
        else:
            micros = _keyed(self._folder_of("cpu", tree), "cpu.stat", "usage_usec")
            seconds = None if micros is None else micros / 1e6
        return GroupUse(None if current is None else max(0, current - idle), peak, seconds)

    # -- kill, freeze ----------------------------------------------------------------------------------

    def can_kill(self) -> bool:
        """Whether a tree can be killed whole (Linux 5.14 and a v2 tree we may write)."""
        probe = self.where.unified / self.name if self.where.unified else None
        return probe is not None and (probe / "cgroup.kill").exists()

    def kill(self, tree: str) -> bool:
        """SIGKILL all of it at once, frozen or not, and what it forks meanwhile. False: not possible here."""
        return self._try_write(tree, "cgroup.kill", "1")

    def freeze(self, tree: str) -> bool:
        """Stop every process of the tree where it is; True once the kernel says that all stand still."""
        if not self._try_write(tree, "cgroup.freeze", "1"):
            return False
        if self._wait_frozen(tree, 1):
            return True
        self.thaw(tree)
        return False

    def thaw(self, tree: str) -> bool:
        return self._try_write(tree, "cgroup.freeze", "0") and self._wait_frozen(tree, 0)

    def frozen(self, tree: str) -> bool:
        return _keyed(self._folder_of(None, tree), "cgroup.events", "frozen") == 1

    def _wait_frozen(self, tree: str, wanted: int) -> bool:
        ends = time.monotonic() + FREEZE_SECONDS
        while _keyed(self._folder_of(None, tree), "cgroup.events", "frozen") != wanted:
            if time.monotonic() > ends:
                return False
            time.sleep(0.0005)
        return True

    # -- folders and files -----------------------------------------------------------------------------

    def _folders(self, tree: str) -> Iterator[Path]:
        for root in self.where.roots():
            yield root / self.name / tree

    def _folder_of(self, controller: str | None, tree: str) -> Path | None:
        root = self.where.v1.get(controller or "") or self.where.unified
        return None if root is None else root / self.name / tree

    def _unified_file(self, tree: str, name: str) -> Path | None:
        return None if self.where.unified is None else self.where.unified / self.name / tree / name

    def _try_write(self, tree: str, name: str, value: str) -> bool:
        path = self._unified_file(tree, name)
        try:
            if path is None:
                return False
            _write(path, value)
        except OSError:
            return False
        return True

    def _set(self, path: Path, value: str) -> None:
        """memory.limit above memory.memsw.limit is invalid: when growing, the other one goes first."""
        try:
            _write(path, value)
        except OSError as error:
            if path.name in _OPTIONAL:
                return
            if path.name != "memory.limit_in_bytes" or error.errno != errno.EINVAL:
                raise
            _write(path.with_name("memory.memsw.limit_in_bytes"), value)
            _write(path, value)

    def _hand_down_v2(self) -> None:
        """Hand the controllers down to the trees' folders. Where the kernel refuses one (a container's root
        group that holds processes), its limits are not in force; capabilities.py says so."""
        if self.where.unified is None:
            return
        top = self.where.unified
        for name in sorted(_words(top / "cgroup.controllers") & set(CONTROLLERS)):
            with suppress(OSError):
                _write(top / "cgroup.subtree_control", f"+{name}")
                _write(top / self.name / "cgroup.subtree_control", f"+{name}")

    def _inherit_cpuset(self, folder: Path) -> None:
        """A v1 cpuset starts empty and takes no process until it has cores and memory nodes."""
        if "cpuset" in self.where.v1 and folder.is_relative_to(self.where.v1["cpuset"]):
            for name in ("cpuset.cpus", "cpuset.mems"):
                if not (folder / name).read_text().strip():
                    _write(folder / name, (folder.parent / name).read_text().strip())


def _write(path: Path, value: str) -> None:
    """One write(2): buffered files swallow the kernel's refusal (facts-box 5)."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _number(folder: Path | None, name: str) -> int | None:
    try:
        return None if folder is None else int((folder / name).read_text())
    except (OSError, ValueError):
        return None


def _keyed(folder: Path | None, name: str, key: str) -> int | None:
    try:
        text = "" if folder is None else (folder / name).read_text()
    except OSError:
        return None
    for line in text.splitlines():
        found, _, value = line.partition(" ")
        if found == key:
            return int(value)
    return None


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text().split())
    except OSError:
        return set()


def _cores(cores: tuple[int, ...]) -> str:
    return ",".join(str(core) for core in cores)
