"""Whether the memory limit of our control group killed something: a counter, read before and after."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
FILES = (("memory", "memory.oom_control"), ("", "memory.events"))


def kills(root: Path = ROOT, cgroup: Path = Path("/proc/self/cgroup")) -> int | None:
    """Processes killed so far by the limit of the group we are in; None when the box does not tell."""
    try:
        lines = cgroup.read_text().splitlines()
    except OSError:
        return None
    for controller, name in FILES:
        path = _group(lines, controller)
        if path is not None and (count := _count(root / controller / path.lstrip("/") / name)) is not None:
            return count
    return None


def _group(lines: list[str], controller: str) -> str | None:
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return None


def _count(path: Path) -> int | None:
    try:
        fields = dict(line.split() for line in path.read_text().splitlines())
    except (OSError, ValueError):
        return None
    return int(fields["oom_kill"]) if "oom_kill" in fields else None
